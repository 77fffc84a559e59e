//! `dcm terminate`: a logical cloud off its clusters.

use dcm_core::port::synchronizer::Removal;

use super::report;
use crate::arguments::{Global, Waiting};
use crate::exit::Exit;
use crate::session::{Named, Session};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    cloud: Named,
    /// Deletes namespaces together with what others put in them. Otherwise such a namespace is kept.
    #[arg(long)]
    delete_contents: bool,
    #[command(flatten)]
    pub(crate) waiting: Waiting,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let removal = Removal { delete_contents: arguments.delete_contents, ..Removal::default() };
    let name = &arguments.cloud.name;
    session.deployment.clouds().terminate(&session.caller, &session.project, name, removal).await?;
    let worked = session.worked(name).await?;
    report::wait(&session, &[worked], &arguments.waiting).await
}
