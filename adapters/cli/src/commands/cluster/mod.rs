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
    /// Registers a cluster, after a look whether it is ready.
    Add(add::Arguments),
    /// Changes what is registered of a cluster: kubeconfig, address for users, labels, namespace. Also while logical clouds are on it.
    Update(update::Arguments),
    /// Takes the cluster that the kubeconfig leads to as the one that the name stands for, in place of another one.
    ///
    /// All that was recorded of the old one is dropped, and the logical clouds are brought to the new one. On the old one
    /// nothing is changed. Nothing is done on a cluster that is another one than before until this was said.
    Accept(accept::Arguments),
    /// Shows registered clusters.
    List(list::Arguments),
    /// Pauses all work on a cluster, such as for maintenance, and waits until no request to it is under way.
    ///
    /// From then on nothing is asked of it, nothing read either. Deadlines of logical clouds that are taken off go on.
    Stop(stop::Arguments),
    /// Goes on with the work on a cluster.
    Resume(stop::Which),
    /// Removes a cluster that no logical cloud refers to.
    Remove(remove::Arguments),
    /// Looks whether a registered cluster is ready: rights, version, clock. Prints the rights that are missing.
    Check(check::Arguments),
    /// Prints the least ClusterRole that a cluster's kubeconfig needs.
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
    /// A namespace of its own, and nothing outside it.
    Standard,
    /// Also permissions in other namespaces and in the whole cluster.
    Privileged,
    /// Uses clusters as they are.
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
