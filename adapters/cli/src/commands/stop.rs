//! `dcm stop`: pauses the work on a logical cloud.

use crate::arguments::{Global, StopWaiting};
use crate::exit::Exit;
use crate::output;
use crate::session::{Named, Session};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    cloud: Named,
    #[command(flatten)]
    pub(crate) waiting: StopWaiting,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let (name, limit) = (&arguments.cloud.name, arguments.waiting.timeout);
    session.clouds().stop(&session.project, name, limit).await?;
    output::note(format_args!("{name}: stopped; nothing is under way, and nothing more begins"));
    Ok(Exit::Done)
}
