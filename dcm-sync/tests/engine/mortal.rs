//! A store and a fleet in front of which one call goes wrong: the process dies there, or the call fails once.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use dcm_core::app_context::TokenRequest;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::{
    self, Access, Call, Cluster, ClusterUid, Clusters, Contents, Deletion, IssuedToken, Object, Precondition,
    Selection, ServerInfo, Stamped,
};
use dcm_core::port::store::{
    self, BatchError, Capabilities, Entry, Page, PageRequest, Path, Prefix, Store, Version, Write,
};

/// What goes wrong at the chosen call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mishap {
    /// The process dies, and the call never leaves.
    DeathBefore,
    /// The call happens, and the process dies before it hears of it.
    DeathAfter,
    /// The call never leaves, and fails.
    FailureBefore,
    /// The call happens, and fails all the same.
    FailureAfter,
}

impl Mishap {
    pub fn is_death(self) -> bool {
        matches!(self, Self::DeathBefore | Self::DeathAfter)
    }

    fn is_after(self) -> bool {
        matches!(self, Self::DeathAfter | Self::FailureAfter)
    }
}

/// Counts the calls that change something; one of them goes wrong. After a death nothing answers any more.
pub struct Life {
    left: AtomicI64,
    mishap: Mishap,
}

impl Life {
    pub fn new(calls: i64, mishap: Mishap) -> Arc<Self> {
        Arc::new(Self { left: AtomicI64::new(calls), mishap })
    }

    /// True when the chosen call was reached.
    pub fn is_over(&self) -> bool {
        self.left.load(Ordering::Relaxed) < 0
    }

    async fn read<T, E>(&self, call: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        if self.mishap.is_death() && self.is_over() {
            return std::future::pending().await;
        }
        call.await
    }

    async fn write<T, E>(
        &self,
        call: impl Future<Output = Result<T, E>>,
        failure: impl FnOnce() -> E,
    ) -> Result<T, E> {
        let left = self.left.fetch_sub(1, Ordering::Relaxed) - 1;
        if left < -1 && self.mishap.is_death() {
            return std::future::pending().await;
        }
        let goes_wrong = left == -1;
        if !goes_wrong {
            return call.await;
        }
        if self.mishap.is_after() {
            drop(call.await);
        }
        if self.mishap.is_death() { std::future::pending().await } else { Err(failure()) }
    }
}

fn broken() -> Arc<std::io::Error> {
    Arc::new(std::io::Error::other("broken on purpose"))
}

fn unreachable() -> cluster::Error {
    cluster::Error::Unreachable { source: broken() }
}

fn unavailable() -> BatchError {
    BatchError { applied: 0, source: store::Error::Unavailable { source: broken() } }
}

pub struct MortalStore {
    pub life: Arc<Life>,
    pub store: Arc<dyn Store>,
}

#[async_trait]
impl Store for MortalStore {
    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, store::Error> {
        self.life.read(self.store.get(path)).await
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, store::Error> {
        self.life.read(self.store.list(prefix, page)).await
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        self.life.write(self.store.write(batch), unavailable).await
    }

    async fn watch(&self, prefix: &Prefix) -> Result<store::Watch, store::Error> {
        self.life.read(self.store.watch(prefix)).await
    }
}

pub struct MortalClusters {
    pub life: Arc<Life>,
    pub clusters: Arc<dyn Clusters>,
}

#[async_trait]
impl Clusters for MortalClusters {
    async fn connect(&self, cluster: &ClusterId) -> Result<Arc<dyn Cluster>, cluster::Error> {
        let client = self.life.read(self.clusters.connect(cluster)).await?;
        Ok(Arc::new(MortalCluster { life: self.life.clone(), client }))
    }
}

struct MortalCluster {
    life: Arc<Life>,
    client: Arc<dyn Cluster>,
}

#[async_trait]
impl Cluster for MortalCluster {
    async fn uid(&self, call: &Call) -> Result<ClusterUid, cluster::Error> {
        self.life.read(self.client.uid(call)).await
    }

    async fn server_info(&self, call: &Call) -> Result<ServerInfo, cluster::Error> {
        self.life.read(self.client.server_info(call)).await
    }

    async fn get(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
    ) -> Result<Option<Object>, cluster::Error> {
        self.life.read(self.client.get(call, kind, key)).await
    }

    async fn create(&self, call: &Call, object: &Stamped) -> Result<Object, cluster::Error> {
        self.life.write(self.client.create(call, object), unreachable).await
    }

    async fn update(
        &self,
        call: &Call,
        object: &Stamped,
        observed: &Precondition,
        force: bool,
    ) -> Result<Object, cluster::Error> {
        self.life.write(self.client.update(call, object, observed, force), unreachable).await
    }

    async fn release(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        observed: &Precondition,
    ) -> Result<Object, cluster::Error> {
        self.life.write(self.client.release(call, kind, key, observed), unreachable).await
    }

    async fn delete(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        observed: &Precondition,
    ) -> Result<Deletion, cluster::Error> {
        self.life.write(self.client.delete(call, kind, key, observed), unreachable).await
    }

    async fn watch(&self, call: &Call, selection: &Selection) -> Result<cluster::Watch, cluster::Error> {
        self.life.read(self.client.watch(call, selection)).await
    }

    async fn approve(
        &self,
        call: &Call,
        key: &ObjectKey,
        observed: &Precondition,
    ) -> Result<Object, cluster::Error> {
        self.life.write(self.client.approve(call, key, observed), unreachable).await
    }

    async fn issue_token(&self, call: &Call, request: &TokenRequest) -> Result<IssuedToken, cluster::Error> {
        self.life.write(self.client.issue_token(call, request), unreachable).await
    }

    async fn contents(&self, call: &Call, namespace: &str) -> Result<Contents, cluster::Error> {
        self.life.read(self.client.contents(call, namespace)).await
    }

    async fn review(&self, call: &Call, accesses: &[Access]) -> Result<Vec<bool>, cluster::Error> {
        self.life.read(self.client.review(call, accesses)).await
    }
}
