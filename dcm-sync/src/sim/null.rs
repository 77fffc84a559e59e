//! Clusters that keep nothing but counters, and answer at once or after a fixed time: for measuring what the engine itself
//! costs, and how much of it goes on side by side.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::app_context::TokenRequest;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::name::ClusterId;
use dcm_core::port::clock::Clock;
use dcm_core::port::cluster::{
    Access, Call, Cluster, ClusterUid, Clusters, Contents, Deletion, Error, IssuedToken, Kinds, Object,
    Origin, Page, PageToken, Precondition, Selection, ServerInfo, Stamped, Watch, WatchEvent,
};
use dcm_core::port::proof::ClusterProofKey;
use dcm_core::port::trial::{ClientCredential, Trial};
use dcm_core::secret::Secret;
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::object::later;

/// Lifetime of a token that nobody can use.
const TOKEN_LIFETIME: Duration = Duration::from_secs(3600);

/// What certificates of these clusters are: base64 of `no certificate`.
const CERTIFICATE: &str = "bm8gY2VydGlmaWNhdGU=";

/// Any number of clusters of any name, with common counters.
#[derive(Clone)]
pub struct NullFleet {
    clock: Arc<dyn Clock>,
    latency: Duration,
    counters: Arc<Counters>,
    /// Certificate requests of each cluster until they are approved: an engine collects a certificate only when the request asks
    /// for what it wants.
    requests: Arc<Mutex<Requests>>,
}

/// By the UID of the cluster, and the key.
type Requests = BTreeMap<(Arc<str>, ObjectKey), Stamped>;

#[derive(Debug, Default)]
struct Counters {
    reads: AtomicU64,
    writes: AtomicU64,
}

impl std::fmt::Debug for NullFleet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NullFleet").field("counters", &self.counters).finish_non_exhaustive()
    }
}

impl NullFleet {
    /// Counts from zero. Calls are answered at once.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, latency: Duration::ZERO, counters: Arc::default(), requests: Arc::default() }
    }

    /// The same fleet as from so far away: each call is answered after this time. How many are under way makes no
    /// difference; connecting sends nothing, and takes none.
    #[must_use]
    pub fn with_latency(self, latency: Duration) -> Self {
        Self { latency, ..self }
    }

    /// Calls that only read.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.counters.reads.load(Ordering::Relaxed)
    }

    /// Calls that write.
    #[must_use]
    pub fn writes(&self) -> u64 {
        self.counters.writes.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Clusters for NullFleet {
    async fn connect(&self, cluster: &ClusterId) -> Result<Arc<dyn Cluster>, Error> {
        let uid = ClusterUid(format!("null-{cluster}").into());
        Ok(Arc::new(NullCluster { fleet: self.clone(), uid }))
    }
}

/// A cluster that says yes to everything. It has no objects: `get` finds none, lists are empty, and watches are silent
/// after the first. A certificate request that was created is approved and signed in one step.
#[derive(Debug, Clone)]
pub struct NullCluster {
    fleet: NullFleet,
    uid: ClusterUid,
}

impl NullCluster {
    async fn read(&self) {
        self.fleet.counters.reads.fetch_add(1, Ordering::Relaxed);
        self.answer().await;
    }

    /// Counts a write; the count serves as its `resourceVersion`.
    async fn write(&self) -> Arc<str> {
        let number = self.fleet.counters.writes.fetch_add(1, Ordering::Relaxed) + 1;
        self.answer().await;
        number.to_string().into()
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.fleet.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits as long as an answer takes.
    async fn answer(&self) {
        if !self.fleet.latency.is_zero() {
            self.fleet.clock.sleep(self.fleet.latency).await;
        }
    }
}

fn written(object: &Stamped, uid: Arc<str>, resource_version: Arc<str>) -> Object {
    Object {
        kind: object.manifest.kind().clone(),
        key: object.manifest.key().clone(),
        uid,
        resource_version,
        marks: Some(object.marks.clone()),
        deleting: None,
        body: Arc::new(object.body()),
    }
}

#[async_trait]
impl Cluster for NullCluster {
    async fn uid(&self, _: &Call) -> Result<ClusterUid, Error> {
        self.read().await;
        Ok(self.uid.clone())
    }

    async fn server_info(&self, _: &Call) -> Result<ServerInfo, Error> {
        self.read().await;
        Ok(ServerInfo { version: "v0.0.0-null".into(), time: Some(self.fleet.clock.now()) })
    }

    async fn kinds(&self, _: &Call) -> Result<Kinds, Error> {
        self.read().await;
        Ok(Kinds::default())
    }

    async fn get(&self, _: &Call, _: &GroupVersionKind, _: &ObjectKey) -> Result<Option<Object>, Error> {
        self.read().await;
        Ok(None)
    }

    async fn list(
        &self,
        _: &Call,
        _: &GroupVersionKind,
        _: Option<&str>,
        _: Option<&PageToken>,
    ) -> Result<Page, Error> {
        self.read().await;
        Ok(Page::default())
    }

    async fn create(&self, _: &Call, object: &Stamped) -> Result<Object, Error> {
        if &*object.manifest.kind().kind == "CertificateSigningRequest" {
            self.requests().insert((self.uid.0.clone(), object.manifest.key().clone()), object.clone());
        }
        let number = self.write().await;
        Ok(written(object, number.clone(), number))
    }

    async fn update(
        &self,
        _: &Call,
        object: &Stamped,
        observed: &Precondition,
        _: bool,
    ) -> Result<Object, Error> {
        Ok(written(object, observed.uid.clone(), self.write().await))
    }

    async fn rehearse(
        &self,
        _: &Call,
        object: &Stamped,
        _: Option<&Precondition>,
        _: bool,
    ) -> Result<Value, Error> {
        self.read().await;
        Ok(object.body())
    }

    async fn release(
        &self,
        _: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        observed: &Precondition,
        _: Origin,
    ) -> Result<Object, Error> {
        let body =
            json!({"apiVersion": kind.api_version(), "kind": &*kind.kind, "metadata": {"name": &*key.name}});
        Ok(Object {
            kind: kind.clone(),
            key: key.clone(),
            uid: observed.uid.clone(),
            resource_version: self.write().await,
            marks: None,
            deleting: None,
            body: Arc::new(body),
        })
    }

    async fn delete(
        &self,
        _: &Call,
        _: &GroupVersionKind,
        _: &ObjectKey,
        _: &Precondition,
    ) -> Result<Deletion, Error> {
        self.write().await;
        Ok(Deletion::Gone)
    }

    async fn watch(&self, _: &Call, _: &Selection) -> Result<Watch, Error> {
        self.read().await;
        let mut listed = false;
        Ok(stream::poll_fn(move |_| match std::mem::replace(&mut listed, true) {
            false => Poll::Ready(Some(Ok(WatchEvent::Listed(Vec::new())))),
            true => Poll::Pending,
        })
        .boxed())
    }

    async fn approve(&self, _: &Call, key: &ObjectKey, observed: &Precondition) -> Result<Object, Error> {
        let request = self.requests().remove(&(self.uid.0.clone(), key.clone())).ok_or(Error::NotFound)?;
        let mut body = request.body();
        let conditions = json!([{"type": "Approved", "status": "True"}]);
        body["status"] = json!({"conditions": conditions, "certificate": CERTIFICATE});
        Ok(Object {
            kind: GroupVersionKind::new(&key.group, "v1", &key.kind),
            key: key.clone(),
            uid: observed.uid.clone(),
            resource_version: self.write().await,
            marks: Some(request.marks),
            deleting: None,
            body: Arc::new(body),
        })
    }

    async fn issue_token(&self, _: &Call, _: &TokenRequest) -> Result<IssuedToken, Error> {
        let token = Secret::new(format!("null-token-{}", self.write().await));
        Ok(IssuedToken { token, expires: later(self.fleet.clock.now(), TOKEN_LIFETIME) })
    }

    async fn try_credential(&self, _: &Call, _: &ClientCredential) -> Result<Trial, Error> {
        self.read().await;
        Ok(Trial::Accepted)
    }

    async fn contents(&self, _: &Call, _: &str, _: Option<&ClusterProofKey>) -> Result<Contents, Error> {
        self.read().await;
        Ok(Contents::default())
    }

    async fn review(&self, _: &Call, accesses: &[Access]) -> Result<Vec<bool>, Error> {
        self.read().await;
        Ok(vec![true; accesses.len()])
    }
}
