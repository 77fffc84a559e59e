//! `dcm cluster accept`: another cluster takes the place of the one that a name stood for.

use anyhow::Context as _;
use dcm_client::{ClusterCheck, Clusters};
use dcm_core::logical_cloud::Level;
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::ClusterUid;
use dcm_server::{Deployment, Other};

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::place::{self, Place};
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The cluster.
    #[arg(value_name = "PROVIDER/CLUSTER")]
    id: ClusterId,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let id = &arguments.id;
    let accepted = match session.place() {
        Place::Here(deployment) => accept(&session, deployment, id).await?,
        Place::There(client) => accept_there(client.clusters(), id).await?,
    };
    match accepted {
        Some(Other { known: ClusterUid(known), found: ClusterUid(found) }) => {
            output::note(format_args!("{id}: stands for {found} from now on, and no more for {known}"));
        }
        None => output::note(format_args!("{id}: is no other cluster than before")),
    }
    Ok(Exit::Done)
}

/// Accepts what a store knows another cluster in the place of.
async fn accept(session: &Session, deployment: &Deployment, id: &ClusterId) -> anyhow::Result<Option<Other>> {
    deployment.registered().get(id).await?;
    let known = deployment.contexts().cluster_uid(id).await?;
    let reached = deployment.clusters().connect(id).await.with_context(|| id.to_string())?;
    let found = reached.uid(&deployment.call()).await.with_context(|| id.to_string())?;
    match known {
        Some(known) if known != found => {
            deployment.accept_cluster(&session.caller, id, &found).await?;
            Ok(Some(Other { known, found }))
        }
        _ => Ok(None),
    }
}

/// The same of a server.
async fn accept_there(clusters: Clusters<'_>, id: &ClusterId) -> Result<Option<Other>, place::Error> {
    let check = ClusterCheck { level: Level::Admin, ..ClusterCheck::default() };
    let checked = clusters.check(id, &check).await?;
    let Some((known, found)) = checked.known.zip(checked.other) else { return Ok(None) };
    clusters.accept(id, &found).await?;
    Ok(Some(Other { known, found }))
}
