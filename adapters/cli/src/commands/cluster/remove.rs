//! `dcm cluster remove`: removes a cluster that no logical cloud refers to.

use dcm_core::name::ClusterId;

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The cluster.
    #[arg(value_name = "PROVIDER/CLUSTER")]
    id: ClusterId,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    session.deployment.registered().remove(&arguments.id).await?;
    output::note(format_args!("{}: removed", arguments.id));
    Ok(Exit::Done)
}
