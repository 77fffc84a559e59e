//! The kinds of owners.

use std::fmt;

use jiff::Timestamp;

use crate::name::{ClusterProviderName, InvalidName, ProjectName};
use crate::port::audit::{About, Action};
use crate::port::store::{PageRequest, Path, Prefix, Store, StoreExt};
use crate::service::caller::Change;
use crate::service::error::{Error, Kind};
use crate::service::load::{self, Found};
use crate::service::{delete, path};

/// A kind of owners. There are no others than those of this crate.
pub trait OwnerKind: Rules {}

impl<K: Rules> OwnerKind for K {}

/// What is so of a kind.
pub trait Rules: Clone + fmt::Debug + Default + PartialEq + Eq + Send + Sync + 'static {
    /// What names one.
    type Name: Clone
        + fmt::Debug
        + fmt::Display
        + Into<String>
        + Ord
        + Send
        + Sync
        + TryFrom<String, Error = InvalidName>;
    const KIND: Kind;
    const PUT: Action;
    const DELETE: Action;

    fn path(name: &Self::Name) -> Path;

    fn all() -> Prefix;

    fn of_path(path: &Path) -> Option<Self::Name>;

    fn about(name: &Self::Name) -> About;

    /// Refuses when it owns anything, and finishes what was cut off of what it owned.
    fn clear(
        store: &dyn Store,
        name: &Self::Name,
        change: &Change,
        now: Timestamp,
    ) -> impl Future<Output = Result<(), Error>> + Send;
}

/// Projects, which own logical clouds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OfClouds;

/// Cluster providers, which own registered clusters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OfClusters;

impl Rules for OfClouds {
    type Name = ProjectName;
    const KIND: Kind = Kind::Project;
    const PUT: Action = Action::PutProject;
    const DELETE: Action = Action::DeleteProject;

    fn path(name: &ProjectName) -> Path {
        path::project(name)
    }

    fn all() -> Prefix {
        path::projects()
    }

    fn of_path(path: &Path) -> Option<ProjectName> {
        path::of_project(path)
    }

    fn about(name: &ProjectName) -> About {
        About { project: Some(name.clone()), ..About::default() }
    }

    /// Finishes deletions and takes back creations that were cut off.
    async fn clear(
        store: &dyn Store,
        name: &ProjectName,
        change: &Change,
        now: Timestamp,
    ) -> Result<(), Error> {
        for entry in store.list_all(&path::roots(name)).await? {
            let Some((project, cloud)) = path::of_root(&entry.path) else { continue };
            match load::found(&project, &cloud, &entry)? {
                Found::Standing(..) => {
                    let (owned, name) = (Kind::LogicalCloud, cloud.to_string());
                    return Err(Error::NotEmpty {
                        kind: Self::KIND,
                        owner: project.to_string(),
                        owned,
                        name,
                    });
                }
                Found::Reserved(place, version) => {
                    let version = delete::mark(store, &place, version, change.clone()).await?;
                    delete::clear(store, &place, version, now).await?;
                }
                Found::Deleting(place, version) => delete::clear(store, &place, version, now).await?,
                Found::Nothing => {}
            }
        }
        Ok(())
    }
}

impl Rules for OfClusters {
    type Name = ClusterProviderName;
    const KIND: Kind = Kind::Provider;
    const PUT: Action = Action::PutProvider;
    const DELETE: Action = Action::DeleteProvider;

    fn path(name: &ClusterProviderName) -> Path {
        path::provider(name)
    }

    fn all() -> Prefix {
        path::providers()
    }

    fn of_path(path: &Path) -> Option<ClusterProviderName> {
        path::of_provider(path)
    }

    fn about(name: &ClusterProviderName) -> About {
        About { detail: name.to_string(), ..About::default() }
    }

    async fn clear(
        store: &dyn Store,
        name: &ClusterProviderName,
        _: &Change,
        _: Timestamp,
    ) -> Result<(), Error> {
        let first = PageRequest { after: None, limit: Some(1) };
        let page = store.list(&path::clusters_of(name), &first).await?;
        match page.entries.first().and_then(|entry| path::of_cluster(&entry.path)) {
            Some(cluster) => {
                let (owned, owned_name) = (Kind::Cluster, cluster.cluster.to_string());
                Err(Error::NotEmpty { kind: Self::KIND, owner: name.to_string(), owned, name: owned_name })
            }
            None => Ok(()),
        }
    }
}
