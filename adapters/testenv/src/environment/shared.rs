//! Servers that several tests of a process share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::start::{Host, start_clusters};
use super::{Builder, Environment};
use crate::Error;
use crate::cluster::Real;
use crate::runtime;

/// Set to `1`, it keeps tests from sharing servers: each call starts some.
const FRESH_VARIABLE: &str = "DCM_TESTENV_FRESH";

/// Never dropped; the guard ends its servers when the process ends.
static SHARED: Mutex<Option<Arc<Group>>> = Mutex::new(None);

static GROUPS: Mutex<BTreeMap<String, Weak<Group>>> = Mutex::new(BTreeMap::new());

/// The servers of those who share them.
#[derive(Debug, Default)]
pub(super) struct Group(tokio::sync::Mutex<Servers>);

#[derive(Debug, Default)]
enum Servers {
    #[default]
    None,
    Started {
        clusters: Vec<Arc<Real>>,
        // Dropped after the clusters on it.
        host: Arc<Host>,
    },
    /// No test tries again what failed for another one.
    Failed(Arc<Error>),
}

impl Environment {
    /// The first clusters of the servers that all tests of this process share, started by the first test that asks for so many. With
    /// `DCM_TESTENV_FRESH=1` nothing is shared, and each call starts servers.
    ///
    /// What a test gets has proxies of its own, which it may tell to fail. It should use names of its own on the clusters: users,
    /// namespaces, cluster-scoped objects. One that looks at all of a cluster needs a [`group`](Self::group), and one that kills a
    /// server, or changes its authorities, a [`builder`](Self::builder).
    ///
    /// # Errors
    /// When the servers could not be started, for every test the same error.
    pub async fn shared(clusters: usize) -> Result<Self, Error> {
        let shared =
            || Arc::clone(SHARED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default());
        let group = if is_fresh() { Arc::default() } else { shared() };
        group.first(clusters).await
    }

    /// The first clusters of the servers that the tests of one group share, for as long as any of them has some: for tests that
    /// read everything on a cluster, and would see what others do there.
    ///
    /// # Errors
    /// As [`shared`](Self::shared).
    pub async fn group(name: &str, clusters: usize) -> Result<Self, Error> {
        let group = if is_fresh() { Arc::default() } else { Group::named(name) };
        group.first(clusters).await
    }
}

fn is_fresh() -> bool {
    std::env::var_os(FRESH_VARIABLE).is_some_and(|value| value == "1")
}

impl Group {
    fn named(name: &str) -> Arc<Self> {
        let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(group) = groups.get(name).and_then(Weak::upgrade) {
            return group;
        }
        let group = Arc::default();
        groups.insert(name.to_owned(), Arc::downgrade(&group));
        group
    }

    async fn first(self: Arc<Self>, count: usize) -> Result<Environment, Error> {
        let handle = runtime::handle().map_err(Error::Runtime)?;
        runtime::run(handle, async move {
            let mut servers = self.0.lock().await;
            if let Err(error) = servers.grow(count).await {
                // Clusters that run serve the tests that need no more.
                if matches!(*servers, Servers::Started { .. }) {
                    return Err(error);
                }
                *servers = Servers::Failed(Arc::new(error));
            }
            match &*servers {
                Servers::Started { clusters, host } => {
                    Environment::of(Arc::clone(host), &clusters[..count], Some(Arc::clone(&self)))
                }
                Servers::Failed(error) => Err(Error::Shared(Arc::clone(error))),
                Servers::None => unreachable!("they were started"),
            }
        })
        .await
    }
}

impl Servers {
    async fn grow(&mut self, count: usize) -> Result<(), Error> {
        if let Self::None = self {
            *self = Self::Started { clusters: Vec::new(), host: Host::start(&Builder::default()).await? };
        }
        if let Self::Started { clusters, host } = self {
            let more = start_clusters(host, clusters.len()..count).await?;
            clusters.extend(more);
        }
        Ok(())
    }
}
