//! `dcm cluster accept`: another cluster takes the place of the one that a name stood for, or it is reached at another endpoint.

use dcm_client::{ClusterCheck, Clusters};
use dcm_core::logical_cloud::Level;
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::ClusterUid;
use dcm_core::preflight::{Inspection, Other};
use dcm_core::service::RegisteredCluster;
use dcm_server::{Deployment, Installation as _};

use super::{check, ready};
use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::place::{self, Place};
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Name of the cluster.
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
    output::note(match accepted {
        Accepted::Other(Other { known: ClusterUid(known), found: ClusterUid(found) }) => {
            format!("{id}: stands for {found} from now on, and no more for {known}")
        }
        Accepted::Endpoint => format!("{id}: the server and the authorities of its kubeconfig are accepted"),
        Accepted::Nothing => format!("{id}: is no other cluster than before"),
    });
    Ok(Exit::Done)
}

/// What was accepted.
enum Accepted {
    /// Another cluster.
    Other(Other),
    /// Another endpoint of the same cluster.
    Endpoint,
    /// Nothing: it is as it was.
    Nothing,
}

impl Accepted {
    fn of(other: Option<Other>, is_moved: bool) -> Self {
        match other {
            Some(other) => Self::Other(other),
            None if is_moved => Self::Endpoint,
            None => Self::Nothing,
        }
    }
}

/// Accepts what is found by a kubeconfig that a store has.
async fn accept(session: &Session, deployment: &Deployment, id: &ClusterId) -> anyhow::Result<Accepted> {
    let RegisteredCluster { registration, is_moved, .. } = deployment.registered().get(id).await?;
    let identified = deployment.identify(&registration).await;
    let (found, other) =
        identified.map_err(|error| ready::of_inspection(error, |error| check::unasked(id, error)))?;
    let accepted = Accepted::of(other, is_moved);
    if !matches!(accepted, Accepted::Nothing) {
        deployment.accept(&session.caller, &registration, &found).await?;
    }
    Ok(accepted)
}

/// The same of a server.
async fn accept_there(clusters: Clusters<'_>, id: &ClusterId) -> Result<Accepted, place::Error> {
    let check = ClusterCheck { level: Level::Admin, ..ClusterCheck::default() };
    let Inspection { other, uid, is_moved, .. } = clusters.check(id, &check).await?;
    if let Some(found) = other.as_ref().map(|other| &other.found).or(uid.as_ref().filter(|_| is_moved)) {
        clusters.accept(id, found).await?;
    }
    Ok(Accepted::of(other, is_moved))
}
