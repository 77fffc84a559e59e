//! `dcm cluster remove`: removes a cluster that no logical cloud refers to.

use dcm_core::name::ClusterId;
use dcm_core::service::Remains;

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Name of the cluster.
    #[arg(value_name = "PROVIDER/CLUSTER")]
    id: ClusterId,
    /// Unregisters the cluster even if removed logical clouds have left objects there; nothing manages these objects from then on.
    #[arg(long)]
    leave_behind: bool,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let remains = if arguments.leave_behind { Remains::LeaveBehind } else { Remains::Refuse };
    let left = session.clusters().remove(&arguments.id, remains).await?;
    left.iter().for_each(|left| output::note(format_args!("{}: {left}", arguments.id)));
    output::note(format_args!("{}: removed", arguments.id));
    Ok(Exit::Done)
}
