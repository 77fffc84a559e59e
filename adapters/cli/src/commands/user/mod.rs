//! `dcm user`: the users of logical clouds.

mod revoke;

use crate::arguments::Global;
use crate::exit::Exit;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Takes away every right that was granted to a user's credentials, and gives the user new ones.
    ///
    /// The user gets another identity, to which the rights are bound from then on: what was issued before is worth nothing
    /// on each cluster as soon as that is reached. What was applied is applied again, and no edit since. Bindings that other
    /// people made for the earlier identity are not touched; they are listed.
    Revoke(revoke::Arguments),
}

pub(crate) async fn run(global: &Global, command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Revoke(arguments) => revoke::run(global, &arguments).await,
    }
}
