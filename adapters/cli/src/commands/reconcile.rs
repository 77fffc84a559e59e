//! `dcm reconcile`: what the store holds of a logical cloud is the truth.

use super::report;
use crate::arguments::{Global, Waiting};
use crate::exit::Exit;
use crate::session::{Named, Session};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    cloud: Named,
    #[command(flatten)]
    waiting: Waiting,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let name = &arguments.cloud.name;
    session.deployment.clouds().reconcile(&session.caller, &session.project, name).await?;
    let worked = session.worked(name).await?;
    report::wait(&session, &[worked], &arguments.waiting).await
}
