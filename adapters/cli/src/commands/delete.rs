//! `dcm delete`: deletes a logical cloud that is on no cluster.

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::session::{Named, Session};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    cloud: Named,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let name = &arguments.cloud.name;
    session.deployment.clouds().delete(&session.caller, &session.project, name).await?;
    output::note(format_args!("{name}: deleted"));
    Ok(Exit::Done)
}
