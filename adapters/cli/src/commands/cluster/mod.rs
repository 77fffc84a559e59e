//! `dcm cluster`: the clusters that logical clouds can be on.

use crate::arguments::Global;
use crate::exit::Exit;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {}

pub(crate) async fn run(_: &Global, command: Command) -> anyhow::Result<Exit> {
    match command {}
}
