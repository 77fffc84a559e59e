//! An engine, a fleet and a store, and app contexts to give them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use dcm_core::app_context::{
    Action, AppContext, Bundle, CertificateRequest, Drift, Existing, Request, Stage, Step, TokenRequest,
};
use dcm_core::manifest::{GroupVersionKind, Manifest, ObjectKey};
use dcm_core::name::{AppName, ClusterId, ContextId};
use dcm_core::port::clock::{Clock, Random};
use dcm_core::port::cluster::{Access, ClusterUid, Clusters, LABEL_OWNER, Object};
use dcm_core::port::store::{Entry, Path, Prefix, Store, StoreExt as _, Write};
use dcm_core::port::synchronizer::{Removal, Synchronizer as _};
use dcm_core::port::threads::Threads;
use dcm_core::port::trial::PrivateKeys;
use dcm_core::status::{ContextStatus, Progress};
use dcm_store::memory::MemoryStore;
use dcm_sync::engine::{Acquire, Engine, Event, Options, What};
use dcm_sync::runtime::TokioClock;
use dcm_sync::sim::{Fleet, Latency, cluster_id};
use futures::{Stream, StreamExt as _};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// Longer than anything takes in virtual time: a bound on liveness, not on speed.
pub const SOON: Duration = Duration::from_secs(300);

/// How often it is looked whether something is so of which nobody tells.
pub const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The same numbers on every run.
struct Counted(std::sync::atomic::AtomicU64);

impl Random for Counted {
    fn next(&self) -> u64 {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }
}

pub struct World {
    pub clock: Arc<dyn Clock>,
    pub store: Arc<dyn Store>,
    pub fleet: Arc<Fleet>,
    random: Counted,
}

impl World {
    pub fn new(clusters: usize) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::starting_at(jiff::Timestamp::UNIX_EPOCH));
        let latency = Latency::fixed(Duration::from_millis(2));
        let fleet = Fleet::builder(clock.clone()).clusters(clusters).latency(latency).build();
        Self {
            clock,
            store: Arc::new(MemoryStore::new()),
            fleet: Arc::new(fleet),
            random: Counted(std::sync::atomic::AtomicU64::new(1)),
        }
    }

    /// The same store, with clusters of the same names that are other ones.
    pub fn with_other_clusters(&self) -> Self {
        let fleet = Fleet::builder(self.clock.clone()).clusters(self.fleet.ids().count()).seed(1).build();
        Self {
            clock: self.clock.clone(),
            store: self.store.clone(),
            fleet: Arc::new(fleet),
            random: Counted(std::sync::atomic::AtomicU64::new(500)),
        }
    }

    /// All that is in the store now.
    pub async fn copy(&self) -> Vec<Entry> {
        self.store.list_all(&Prefix::everything()).await.unwrap()
    }

    /// The same clusters, with a store that holds an old copy, but for the sessions of workers that are no more.
    pub async fn restored(&self, copy: &[Entry]) -> Self {
        let store = MemoryStore::new();
        for entry in copy.iter().filter(|entry| !entry.path.as_str().starts_with("workers/")) {
            let (path, document) = (entry.path.clone(), entry.document.clone());
            store.write_one(Write::Create { path, document }).await.unwrap();
        }
        Self {
            clock: self.clock.clone(),
            store: Arc::new(store),
            fleet: self.fleet.clone(),
            random: Counted(std::sync::atomic::AtomicU64::new(1500)),
        }
    }

    pub fn engine(&self) -> Engine {
        self.engine_with(Options::default())
    }

    pub fn engine_with(&self, options: Options) -> Engine {
        self.mortal_engine(options).0
    }

    /// An engine whose task can be aborted, as a process can be killed.
    pub fn mortal_engine(&self, options: Options) -> (Engine, JoinHandle<()>) {
        self.engine_between(self.store.clone(), self.fleet.clone(), options)
    }

    /// An engine between others than the store and the fleet themselves, such as what stands before them.
    pub fn engine_between(
        &self,
        store: Arc<dyn Store>,
        clusters: Arc<dyn Clusters>,
        options: Options,
    ) -> (Engine, JoinHandle<()>) {
        let builder = Engine::builder(store, clusters).options(options);
        let (engine, run) = builder.build(self.clock.clone(), &self.random);
        (engine, tokio::spawn(run))
    }

    /// An engine that finds private keys here.
    pub fn engine_with_keys(&self, keys: Arc<dyn PrivateKeys>) -> Engine {
        let builder = Engine::builder(self.store.clone(), self.fleet.clone()).private_keys(keys);
        let (engine, run) = builder.build(self.clock.clone(), &self.random);
        tokio::spawn(run);
        engine
    }

    /// An engine that does what takes long on these threads.
    pub fn engine_on(&self, threads: Arc<dyn Threads>, options: Options) -> Engine {
        let builder =
            Engine::builder(self.store.clone(), self.fleet.clone()).options(options).threads(threads);
        let (engine, run) = builder.build(self.clock.clone(), &self.random);
        tokio::spawn(run);
        engine
    }

    pub fn writes(&self) -> u64 {
        self.requests(dcm_sync::sim::RequestLog::writes)
    }

    pub fn requests(&self, count: impl Fn(&dcm_sync::sim::RequestLog) -> u64) -> u64 {
        let ids = self.fleet.ids();
        ids.map(|id| self.fleet.cluster(id).unwrap().server(|server| count(server.requests()))).sum()
    }

    /// The clusters on which a namespace is claimed.
    pub async fn claimed(&self, namespace: &str) -> BTreeSet<String> {
        let claims = Prefix::below(&Path::new("claims").unwrap());
        let entries = self.store.list_all(&claims).await.unwrap();
        let paths = entries.iter().map(|entry| entry.path.as_str().trim_start_matches("claims/"));
        paths.filter_map(|path| path.strip_suffix(&format!("/{namespace}"))).map(str::to_owned).collect()
    }

    /// The versions of all lanes' records.
    pub async fn store_state(&self) -> Vec<String> {
        let lanes = Prefix::below(&Path::new("lanes").unwrap());
        let entries = self.store.list_all(&lanes).await.unwrap();
        entries.iter().map(|entry| format!("{} {:?}", entry.path, entry.version)).collect()
    }

    /// All objects of a cluster that carry our owner label.
    pub fn owned(&self, number: usize) -> Vec<String> {
        let cluster = self.fleet.cluster(&cluster_id(number)).unwrap();
        cluster.server(|server| {
            let owned =
                server.objects().filter(|object| object.body["metadata"]["labels"][LABEL_OWNER].is_string());
            owned.map(|object| object.key.to_string()).collect()
        })
    }

    /// What a cluster says it is.
    pub fn uid(&self, number: usize) -> ClusterUid {
        self.uid_of(&cluster_id(number))
    }

    pub fn uid_of(&self, cluster: &ClusterId) -> ClusterUid {
        let (kind, key) = namespace("kube-system");
        let found = self.fleet.cluster(cluster).unwrap().server(|server| server.object(&kind, &key).unwrap());
        ClusterUid(found.unwrap().uid)
    }

    pub fn body(&self, number: usize, kind: &GroupVersionKind, key: &ObjectKey) -> Option<Value> {
        let cluster = self.fleet.cluster(&cluster_id(number)).unwrap();
        cluster.server(|server| server.object(kind, key).unwrap().map(|object| (*object.body).clone()))
    }
}

pub async fn done(engine: &Engine, id: &ContextId) -> ContextStatus {
    let status = tokio::time::timeout(SOON, engine.contexts().wait_until_done(id)).await;
    let status = match status {
        Ok(status) => status.unwrap(),
        Err(_) => panic!("not done: {:#?}", engine.contexts().status(id).await),
    };
    assert_eq!(status.progress, Progress::Done, "{status:#?}");
    status
}

/// Waits for an event of this kind.
pub async fn event(events: &mut (impl Stream<Item = Event> + Unpin), is_it: impl Fn(&What) -> bool) {
    let wait = async { while !is_it(&events.next().await.unwrap().what) {} };
    tokio::time::timeout(SOON, wait).await.unwrap();
}

/// Follows the context until its status is so.
pub async fn until(engine: &Engine, mut is_so: impl FnMut(&ContextStatus) -> bool) -> ContextStatus {
    let mut statuses = engine.contexts().watch(&context_id()).await.unwrap();
    let mut last = None;
    let wait = async {
        while let Some(status) = statuses.next().await {
            let status = last.insert(status.unwrap());
            if is_so(status) {
                return;
            }
        }
    };
    let waited = tokio::time::timeout(SOON, wait).await;
    assert!(waited.is_ok(), "it never came to that: {last:#?}");
    last.unwrap()
}

/// Looks until it is so.
pub async fn until_so(is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    assert!(tokio::time::timeout(SOON, wait).await.is_ok(), "it never came to that");
}

/// Waits until nothing is left of what the work needed on the way.
pub async fn tidied(engine: &Engine) {
    tokio::time::timeout(SOON, engine.contexts().wait_until_tidy(&context_id())).await.unwrap().unwrap();
}

/// A worker that only waits for its own changes, as a command does.
pub fn one_shot() -> Options {
    Options { acquire: Acquire::PendingOf([context_id()].into()), ..Options::default() }
}

pub fn context_id() -> ContextId {
    ContextId::new("lc-1").unwrap()
}

pub fn namespace(name: &str) -> (GroupVersionKind, ObjectKey) {
    let kind = GroupVersionKind::new("", "v1", "Namespace");
    let key = ObjectKey::of_kind(&kind, None, name);
    (kind, key)
}

pub fn config_map(namespace: &str, name: &str) -> (GroupVersionKind, ObjectKey) {
    let kind = GroupVersionKind::new("", "v1", "ConfigMap");
    let key = ObjectKey::of_kind(&kind, Some(namespace), name);
    (kind, key)
}

pub fn apply(stage: u16, body: Value) -> Step {
    apply_or(stage, body, Existing::Refuse)
}

pub fn apply_or(stage: u16, body: Value, existing: Existing) -> Step {
    apply_with(stage, body, existing, Drift::default())
}

pub fn apply_with(stage: u16, body: Value, existing: Existing, drift: Drift) -> Step {
    let action = Action::Apply { manifest: Manifest::new(body).unwrap(), existing, drift };
    Step { app: AppName::new("app").unwrap(), stage: Stage(stage), action }
}

pub fn request(stage: u16, name: &str, request: Request) -> Step {
    let action = Action::Request { name: name.into(), request };
    Step { app: AppName::new("app").unwrap(), stage: Stage(stage), action }
}

/// A right to the quotas.
pub fn to_quotas(verb: &str) -> Access {
    Access {
        verb: verb.into(),
        group: "".into(),
        resource: "resourcequotas".into(),
        subresource: "".into(),
        name: "".into(),
        namespace: None,
    }
}

pub fn account_body(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "team"}})
}

pub fn namespace_body(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

pub fn role_body(name: &str, verbs: &[&str]) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": name, "namespace": "team"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}]})
}

/// A RoleBinding in the namespace `team`.
pub fn binding_in_team(name: &str, finalizers: &[&str]) -> Value {
    let rbac = "rbac.authorization.k8s.io";
    json!({
        "apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": "team", "finalizers": finalizers},
        "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": rbac, "kind": "User", "name": "ann"}],
    })
}

/// How many subjects each RoleBinding in the namespace `team` of a cluster has.
pub fn bound_in_team(world: &World, number: usize) -> BTreeMap<String, usize> {
    let cluster = world.fleet.cluster(&cluster_id(number)).unwrap();
    let subjects = |object: &Object| object.body["subjects"].as_array().map_or(0, Vec::len);
    cluster.server(|server| {
        let bindings = server.objects().filter(|object| &*object.key.kind == "RoleBinding");
        bindings.map(|object| (object.key.name.to_string(), subjects(&object))).collect()
    })
}

pub fn quota_body(hard: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "quota", "namespace": "team"}, "spec": {"hard": hard}})
}

/// One request for all tests: its key is nobody's.
fn csr_pem() -> Arc<str> {
    static CSR: std::sync::LazyLock<Arc<str>> = std::sync::LazyLock::new(|| {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::default();
        parameters.distinguished_name.push(rcgen::DnType::CommonName, "developer");
        parameters.serialize_request(&key).unwrap().pem().unwrap().into()
    });
    CSR.clone()
}

/// A namespace with a quota, two roles, a service account, a certificate and a token.
pub fn steps() -> Vec<Step> {
    let certificate = CertificateRequest {
        object_name: "lc-1-developer".into(),
        csr_pem: csr_pem(),
        signer: "kubernetes.io/kube-apiserver-client".into(),
        lifetime_seconds: Some(3600),
    };
    let token =
        TokenRequest { namespace: "team".into(), service_account: "ci".into(), lifetime_seconds: Some(3600) };
    vec![
        apply(0, namespace_body("team")),
        apply(1, quota_body(&json!({"pods": "10", "requests.cpu": "4"}))),
        apply(1, role_body("reader", &["get", "list"])),
        apply(1, role_body("writer", &["create"])),
        apply(1, account_body("ci")),
        request(2, "developer", Request::Certificate(certificate)),
        request(2, "ci", Request::Token(token)),
    ]
}

/// An app context that places steps on clusters.
pub fn context(steps: Vec<Step>, clusters: impl IntoIterator<Item = usize>) -> AppContext {
    let bundle = Arc::new(Bundle::new(steps).unwrap());
    let placements: BTreeMap<ClusterId, Arc<Bundle>> =
        clusters.into_iter().map(|number| (cluster_id(number), bundle.clone())).collect();
    AppContext { id: context_id(), labels: BTreeMap::new(), removal: Removal::default(), placements }
}
