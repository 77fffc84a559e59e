//! `dcm cluster`: the clusters that logical clouds can be on.

mod accept;
mod add;
mod check;
mod list;
mod ready;
mod remove;
mod role;
mod stop;
mod update;
mod users;

use dcm_core::logical_cloud::Level;

use crate::arguments::Global;
use crate::exit::Exit;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Registers a cluster after checking its rights, version and clock.
    Add(add::Arguments),
    /// Updates the kubeconfig, the address for users, the labels or the namespace of a cluster.
    ///
    /// Logical clouds may be on the cluster.
    Update(update::Arguments),
    /// Accepts another cluster, server or authority behind the name of a cluster.
    ///
    /// For another cluster, the records of the old one are dropped, and the logical clouds are applied to the new one. Nothing is
    /// changed on the old one. Until you accept it, nothing is done on a cluster that is not the one from before.
    Accept(accept::Arguments),
    /// Lists registered clusters.
    List(list::Arguments),
    /// Pauses all work on a cluster, for example for maintenance, and waits until no request to it is in flight.
    ///
    /// A paused cluster gets no request, not even a read. Deadlines of logical clouds that are being removed go on.
    Stop(stop::Arguments),
    /// Resumes the work on a paused cluster.
    Resume(stop::Which),
    /// Unregisters a cluster that no logical cloud refers to.
    Remove(remove::Arguments),
    /// Checks the rights, the version and the clock of a registered cluster, and prints the missing rights.
    Check(check::Arguments),
    /// Prints the least ClusterRoles for the engine on a cluster.
    Role(role::Arguments),
}

pub(crate) async fn run(global: &Global, command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Add(arguments) => add::run(global, &arguments).await,
        Command::Accept(arguments) => accept::run(global, &arguments).await,
        Command::Update(arguments) => update::run(global, &arguments).await,
        Command::List(arguments) => list::run(global, &arguments).await,
        Command::Stop(arguments) => stop::run(global, &arguments).await,
        Command::Resume(which) => stop::resume(global, &which).await,
        Command::Remove(arguments) => remove::run(global, &arguments).await,
        Command::Check(arguments) => check::run(global, &arguments).await,
        Command::Role(arguments) => role::run(global, &arguments).await,
    }
}

/// A label, on the command line.
fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("must be KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// A level, on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum LevelArgument {
    /// Logical clouds have rights in their own namespace alone.
    Standard,
    /// Logical clouds may also have rights in other namespaces and in the whole cluster.
    Privileged,
    /// Logical clouds use the cluster as it is, and change nothing in it.
    Admin,
}

impl From<LevelArgument> for Level {
    fn from(level: LevelArgument) -> Self {
        match level {
            LevelArgument::Standard => Self::Standard,
            LevelArgument::Privileged => Self::Privileged,
            LevelArgument::Admin => Self::Admin,
        }
    }
}
