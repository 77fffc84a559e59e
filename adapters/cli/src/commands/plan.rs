//! `dcm plan`
use crate::arguments::Global;
use crate::exit::Exit;
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {}
pub(crate) async fn run(_: &Global, _: &Arguments) -> anyhow::Result<Exit> { Ok(Exit::Done) }
