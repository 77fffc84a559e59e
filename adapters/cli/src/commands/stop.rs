//! `dcm stop`: pauses the work on a logical cloud.

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
    session.deployment.clouds().stop(&session.caller, &session.project, name).await?;
    output::note(format_args!("{name}: stopped; what is under way is finished, nothing more begins"));
    Ok(Exit::Done)
}
