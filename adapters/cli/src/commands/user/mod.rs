//! `dcm user`: the users of logical clouds.

mod revoke;

use crate::arguments::Global;
use crate::exit::Exit;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Revokes all rights of a user's credentials, and issues new credentials.
    ///
    /// The user gets a new identity, and the rights are bound to it: earlier credentials lose their rights on each cluster as soon as
    /// it is reached. The last applied state is applied again, without later edits. Bindings of other clients to the earlier
    /// identity are listed, and not changed.
    Revoke(revoke::Arguments),
}

pub(crate) async fn run(global: &Global, command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Revoke(arguments) => revoke::run(global, &arguments).await,
    }
}
