//! `dcm cluster accept`: another cluster takes the place of the one that a name stood for.

use dcm_client::{ClusterCheck, Clusters};
use dcm_core::logical_cloud::Level;
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::ClusterUid;
use dcm_core::preflight::Other;
use dcm_server::{Deployment, Installation as _};

use super::{check, ready};
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
    let registration = deployment.registered().get(id).await?.registration;
    let other = deployment.other(&registration).await;
    let other = other.map_err(|error| ready::of_inspection(error, |error| check::unasked(id, error)))?;
    if let Some(Other { found, .. }) = &other {
        deployment.accept(&session.caller, id, found).await.map_err(place::Error::from)?;
    }
    Ok(other)
}

/// The same of a server.
async fn accept_there(clusters: Clusters<'_>, id: &ClusterId) -> Result<Option<Other>, place::Error> {
    let check = ClusterCheck { level: Level::Admin, ..ClusterCheck::default() };
    let other = clusters.check(id, &check).await?.other;
    if let Some(Other { found, .. }) = &other {
        clusters.accept(id, found).await?;
    }
    Ok(other)
}
