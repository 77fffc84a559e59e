//! Registered clusters, at a store or at a server.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use dcm_client::{ClusterChange, Clusters as Remote, ProblemKind};
use dcm_core::kubeconfig::{Admin, UserEndpoint};
use dcm_core::logical_cloud::Level;
use dcm_core::name::{ClusterId, ClusterName, ClusterProviderName, ContextId, Namespace};
use dcm_core::port::cluster::ClusterUid;
use dcm_core::port::synchronizer::{Disposal, Tombstone};
use dcm_core::service::{
    self, Caller, Change, EditOutcome, Orphans, RegisteredCluster, Registration, Remains,
};
use dcm_server::{Deployment, Installation as _};
use futures::{StreamExt as _, stream};
use serde::Serialize;

use super::{Error, last_segment, stopping};
use crate::session::told;

/// How many clusters a server is asked about at once.
const ASKED_AT_ONCE_MAX: usize = 16;

/// The registered clusters of a store or of a server.
#[derive(Clone, Copy)]
pub(crate) enum Clusters<'a> {
    Here(&'a Deployment, &'a Caller),
    There(Remote<'a>),
}

/// What is shown of a cluster.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Shown {
    pub(crate) cluster: ClusterId,
    pub(crate) server: Option<String>,
    /// Where users reach it; none where they get the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user_endpoint: Option<UserEndpoint>,
    pub(crate) labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<Namespace>,
    /// All work on it is paused.
    pub(crate) stopped: bool,
    /// Its endpoint is not accepted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) moved: bool,
    pub(crate) created: Change,
    pub(crate) changed: Change,
}

/// What was found at a cluster before it is registered.
pub(crate) struct Look {
    /// The highest level of logical clouds that it was for.
    pub(crate) level: Level,
    /// The UID that was found; none where a server registers it, which looks itself.
    pub(crate) uid: Option<ClusterUid>,
}

/// All clusters.
#[derive(Default)]
pub(crate) struct All {
    pub(crate) clusters: Vec<Shown>,
    /// What is wrong with those that can't be read.
    pub(crate) broken: Vec<String>,
}

impl Clusters<'_> {
    /// All registered clusters, in order.
    pub(crate) async fn list(&self) -> Result<All, Error> {
        match self {
            Self::Here(store, _) => Ok(listed(store).await?),
            Self::There(clusters) => listed_there(clusters).await,
        }
    }

    /// Fails unless this cluster is registered.
    pub(crate) async fn find(&self, id: &ClusterId) -> Result<(), Error> {
        match self {
            Self::Here(store, _) => drop(store.registered().get(id).await?),
            Self::There(clusters) => drop(clusters.tag(id).await?),
        }
        Ok(())
    }

    /// Registers a cluster; without a look at it where there was none.
    pub(crate) async fn add(
        &self,
        registration: Registration,
        look: Option<Look>,
    ) -> Result<EditOutcome, Error> {
        let clusters = match self {
            Self::Here(store, caller) => {
                let uid = look.and_then(|look| look.uid);
                let added = store.registered().add_seen(caller, registration, uid.as_ref()).await?;
                return Ok(added.1);
            }
            Self::There(clusters) => clusters,
        };
        let look = look.map(|look| look.level);
        let Registration { id, kubeconfig, user_endpoint, labels, namespace, .. } = registration;
        let (kubeconfig, labels) = (Some(kubeconfig), Some(labels));
        let user_endpoint = user_endpoint.map(Some);
        let cluster = ClusterChange { kubeconfig, user_endpoint, labels, namespace };
        let registered = match clusters.register(&id, &cluster, look).await {
            Err(error) if error.is_of(ProblemKind::NotFound) => {
                match clusters.create_provider(&id.provider).await {
                    // Somebody else was quicker.
                    Err(error) if error.is_of(ProblemKind::AlreadyThere) => {}
                    created => created?,
                }
                clusters.register(&id, &cluster, look).await
            }
            registered => registered,
        };
        match registered {
            Ok(()) => Ok(EditOutcome::Created),
            Err(error) if error.problem().is_some_and(|problem| problem.is_same) => {
                Ok(EditOutcome::Unchanged)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a cluster, and tells what is left behind there.
    pub(crate) async fn remove(&self, id: &ClusterId, remains: Remains) -> Result<Vec<String>, Error> {
        match self {
            Self::Here(store, caller) => {
                let left = store.registered().remove(caller, id, remains).await?;
                Ok(left.iter().flat_map(Tombstone::left_behind).collect())
            }
            Self::There(clusters) => Ok(clusters.remove(id, remains == Remains::LeaveBehind).await?),
        }
    }

    /// Pauses all work on a cluster, and waits until nothing is under way, for as long as may be.
    pub(crate) async fn stop(&self, id: &ClusterId, limit: Duration) -> Result<(), Error> {
        match self {
            Self::Here(store, caller) => Ok(store.registered().stop(caller, id, limit).await?),
            Self::There(clusters) => {
                let is_stopped = async || Ok(clusters.get(id).await?.status.stopped);
                stopping::until_idle(limit, async |wait| clusters.stop(id, wait).await, is_stopped).await
            }
        }
    }

    /// Goes on with the work on a cluster.
    pub(crate) async fn resume(&self, id: &ClusterId) -> Result<(), Error> {
        match self {
            Self::Here(store, caller) => Ok(store.registered().resume(caller, id).await?),
            Self::There(clusters) => Ok(clusters.resume(id).await?),
        }
    }

    /// The orphans on several clusters, looked for on many of them at once.
    pub(crate) async fn orphans_on(
        &self,
        ids: Vec<ClusterId>,
    ) -> BTreeMap<ClusterId, Result<Orphans, Error>> {
        match self {
            Self::Here(store, _) => {
                let found = store.orphans_on(ids).await.into_iter();
                found.map(|(id, found)| (id, found.map_err(Error::from))).collect()
            }
            Self::There(clusters) => {
                let looks = ids.into_iter().map(|id| async move {
                    let found = clusters.orphans(&id).await.map_err(Error::from);
                    (id, found)
                });
                stream::iter(looks).buffer_unordered(ASKED_AT_ONCE_MAX).collect().await
            }
        }
    }

    /// Removes the orphans of one app context from a cluster, or releases them.
    pub(crate) async fn clear_orphans(
        &self,
        id: &ClusterId,
        context: &ContextId,
        disposal: Disposal,
    ) -> Result<Orphans, Error> {
        match self {
            Self::Here(store, caller) => Ok(store.clear_orphans(caller, id, context, disposal).await?),
            Self::There(clusters) => Ok(clusters.clear_orphans(id, context, disposal).await?),
        }
    }
}

/// The clusters of a store.
async fn listed(store: &Deployment) -> Result<All, service::Error> {
    let stopped = store.registered().stopped().await?;
    let (mut all, mut after) = (All::default(), None);
    loop {
        let page = store.registered().list(after.as_ref(), None).await?;
        all.clusters.extend(page.clusters.into_iter().map(|one| Shown::of(one, &stopped)));
        all.broken.extend(told(&page.broken));
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(all),
        }
    }
}

/// Those of a server, provider by provider.
async fn listed_there(clusters: &Remote<'_>) -> Result<All, Error> {
    let mut all = All::default();
    let providers = clusters.providers().await?;
    let broken = providers.broken.iter().map(|one| last_segment(&one.path).to_owned());
    all.broken.extend(providers.broken.iter().map(dcm_client::Broken::told));
    let names = providers.items.into_iter().map(|provider| provider.metadata.name).chain(broken);
    for provider in names.filter_map(|name| ClusterProviderName::new(name).ok()) {
        let listed = match clusters.list(&provider).await {
            Ok(listed) => listed,
            // It was deleted after it was listed.
            Err(error) if error.is_of(ProblemKind::NotFound) => continue,
            Err(error) if error.is_of(ProblemKind::Internal) => {
                all.broken.push(format!("cluster provider {provider}: {error}"));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        all.clusters.extend(listed.items.into_iter().filter_map(|one| Shown::of_server(&provider, one)));
        all.broken.extend(listed.broken.into_iter().map(|one| one.told()));
    }
    all.clusters.sort_by(|one, other| one.cluster.cmp(&other.cluster));
    Ok(all)
}

impl Shown {
    fn of(cluster: RegisteredCluster, stopped: &BTreeSet<ClusterId>) -> Self {
        let RegisteredCluster { registration, created, changed, is_moved: moved, .. } = cluster;
        let server = Admin::read(&registration.kubeconfig).ok().map(|admin| admin.server().to_owned());
        let Registration { id, user_endpoint, labels, namespace, .. } = registration;
        let stopped = stopped.contains(&id);
        Self { cluster: id, server, user_endpoint, labels, namespace, stopped, moved, created, changed }
    }

    /// None for a name that no cluster has.
    fn of_server(provider: &ClusterProviderName, cluster: dcm_client::Cluster) -> Option<Self> {
        let dcm_client::Cluster { metadata, spec, status, .. } = cluster;
        let cluster =
            ClusterId { provider: provider.clone(), cluster: ClusterName::new(metadata.name).ok()? };
        let dcm_client::ClusterSpec { server, user_endpoint, labels, namespace, .. } = spec;
        let dcm_client::ClusterStatus { stopped, moved, created, changed, .. } = status;
        Some(Self { cluster, server, user_endpoint, labels, namespace, stopped, moved, created, changed })
    }
}
