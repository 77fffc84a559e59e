//! `dcm cluster stop` and `dcm cluster resume`: pause the work on a cluster, and go on.

use dcm_core::name::ClusterId;

use crate::arguments::{Global, StopWaiting};
use crate::exit::Exit;
use crate::output;
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    cluster: Which,
    #[command(flatten)]
    waiting: StopWaiting,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Which {
    /// Name of the cluster.
    #[arg(value_name = "PROVIDER/CLUSTER")]
    id: ClusterId,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let id = &arguments.cluster.id;
    session.clusters().stop(id, arguments.waiting.timeout).await?;
    output::note(format_args!("{id}: stopped; nothing is under way, and nothing more begins"));
    Ok(Exit::Done)
}

pub(crate) async fn resume(global: &Global, Which { id }: &Which) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    session.clusters().resume(id).await?;
    output::note(format_args!("{id}: the work goes on"));
    Ok(Exit::Done)
}
