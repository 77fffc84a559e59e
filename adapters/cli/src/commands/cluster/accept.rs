//! `dcm cluster accept`: another cluster takes the place of the one that a name stood for.

use anyhow::Context as _;
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::ClusterUid;

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
    let (deployment, id) = (session.here()?, &arguments.id);
    deployment.registered().get(id).await?;
    let known = deployment.contexts().cluster_uid(id).await?;
    let reached = deployment.clusters().connect(id).await.with_context(|| id.to_string())?;
    let found = reached.uid(&deployment.call()).await.with_context(|| id.to_string())?;
    match known {
        Some(known) if known != found => {
            deployment.accept_cluster(&session.caller, id, &found).await?;
            let (ClusterUid(known), ClusterUid(found)) = (known, found);
            output::note(format_args!("{id}: stands for {found} from now on, and no more for {known}"));
        }
        _ => output::note(format_args!("{id}: is no other cluster than before")),
    }
    Ok(Exit::Done)
}
