//! The services, with everything they need, and short ways to write tests.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::logical_cloud::MetadataDraft;
use dcm_core::name::{ClusterId, ProjectName};
use dcm_core::pki::SystemKeys;
use dcm_core::port::clock::{Clock, Random};
use dcm_core::port::key_source::{self, KeyAndRequest, KeySource, KeyType};
use dcm_core::port::store::{Prefix, StoreExt as _};
use dcm_core::port::synchronizer::Synchronizer;
use dcm_core::secret::Secret;
use dcm_core::service::{
    Applied, Caller, Controllers, EditOutcome, Edited, Error, LogicalClouds, Precondition, Projects,
    Providers, RegisteredClusters, Registration,
};
use dcm_core::subject::Subject;
use dcm_store::MemoryStore;
use futures::future::BoxFuture;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Dying, Engine, authority};

/// The time at which the tests' certificates are valid.
pub(crate) fn now() -> Timestamp {
    "2026-06-01T00:00:00Z".parse().unwrap()
}

/// So many seconds after that.
pub(crate) fn seconds_from_now(seconds: u64) -> Timestamp {
    now() + Duration::from_secs(seconds)
}

/// Lets others go first this many times.
pub(crate) async fn later(times: usize) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}

pub(crate) struct FixedClock(AtomicI64);

impl FixedClock {
    pub(crate) fn new() -> Self {
        Self(AtomicI64::new(now().as_second()))
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::SeqCst)).unwrap()
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        unreachable!("the services never wait")
    }
}

/// Gives 1, 2, 3 and so on, or always the same.
pub(crate) struct Counting {
    last: AtomicU64,
    step: AtomicU64,
}

impl Random for Counting {
    fn next(&self) -> u64 {
        self.last.fetch_add(self.step.load(Ordering::SeqCst), Ordering::SeqCst)
    }
}

impl Counting {
    pub(crate) fn freeze(&self) {
        self.step.store(0, Ordering::SeqCst);
    }
}

/// Makes real keys and remembers for whom.
#[derive(Default)]
pub(crate) struct Keys {
    pub(crate) made: Mutex<Vec<(Subject, KeyAndRequest)>>,
}

impl KeySource for Keys {
    fn issue_of(&self, key: KeyType, subject: &Subject) -> Result<KeyAndRequest, key_source::Error> {
        let made = SystemKeys.issue_of(key, subject)?;
        self.made.lock().unwrap().push((subject.clone(), made.clone()));
        Ok(made)
    }
}

/// The services over one store. Cheap to clone.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) memory: Arc<MemoryStore>,
    pub(crate) store: Arc<Dying>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) clock: Arc<FixedClock>,
    pub(crate) random: Arc<Counting>,
    pub(crate) caller: Caller,
    pub(crate) project: ProjectName,
    pub(crate) clouds: LogicalClouds,
    pub(crate) clusters: RegisteredClusters,
    pub(crate) projects: Projects,
    pub(crate) providers: Providers,
    pub(crate) controllers: Controllers,
}

impl World {
    /// An empty world.
    pub(crate) fn empty(atomic_batches: bool) -> Self {
        let engine = Arc::new(Engine::new());
        Self::over(atomic_batches, engine.clone(), engine)
    }

    /// The usual cloud, whose users ask for credentials of so many seconds, and were given others in the first moment.
    pub(crate) async fn with_credentials(asked: u64, given: u64) -> Self {
        let world = Self::new(true).await;
        let mut draft = draft();
        for user in draft["spec"]["users"].as_array_mut().unwrap() {
            user["lifetimeSeconds"] = asked.into();
        }
        world.put(draft).await.unwrap();
        world.apply("shop").await.unwrap();
        world.engine.issue_for(0..given);
        world.engine.finish();
        world
    }

    pub(crate) fn over(
        atomic_batches: bool,
        engine: Arc<Engine>,
        synchronizer: Arc<dyn Synchronizer>,
    ) -> Self {
        let memory = MemoryStore::builder().atomic_batches(atomic_batches).build();
        Self::with(Arc::new(Dying::new(Arc::new(memory))), engine, synchronizer)
    }

    pub(crate) fn with(store: Arc<Dying>, engine: Arc<Engine>, synchronizer: Arc<dyn Synchronizer>) -> Self {
        let clock = Arc::new(FixedClock::new());
        let keys = Arc::new(Keys::default());
        let random = Arc::new(Counting { last: AtomicU64::new(1), step: AtomicU64::new(1) });
        let clouds = LogicalClouds::new(
            store.clone(),
            synchronizer.clone(),
            keys.clone(),
            clock.clone(),
            random.clone(),
        );
        Self {
            clusters: RegisteredClusters::new(
                store.clone(),
                synchronizer,
                clock.clone(),
                Arc::new(|_: &Secret| Ok(())),
            ),
            projects: Projects::new(store.clone(), clock.clone()),
            providers: Providers::new(store.clone(), clock.clone()),
            controllers: Controllers::new(store.clone(), clock.clone()),
            caller: Caller::new("tester").because("to see").with_request_id("r-1"),
            project: name("retail"),
            memory: store.inner(),
            store,
            engine,
            keys,
            clock,
            random,
            clouds,
        }
    }

    /// A world with the project `retail` and the clusters `sim/one`, `sim/two` and `sim/three`.
    pub(crate) async fn new(atomic_batches: bool) -> Self {
        let world = Self::empty(atomic_batches);
        world.furnish().await;
        world
    }

    pub(crate) async fn furnish(&self) {
        let project = MetadataDraft { name: "retail".into(), ..MetadataDraft::default() };
        self.projects.put(&self.caller, project).await.unwrap();
        for name in ["one", "two", "three"] {
            self.register(name, &[("tier", "edge"), ("name", name)]).await;
        }
    }

    pub(crate) async fn register(&self, name: &str, labels: &[(&str, &str)]) {
        let registration = registration(name, labels);
        self.clusters.add(&self.caller, registration).await.unwrap();
    }

    /// Changes what is registered of a cluster.
    pub(crate) async fn edit_cluster(
        &self,
        name: &str,
        next: impl Fn(Registration) -> Registration + Send + Sync,
    ) -> Result<EditOutcome, Error> {
        let edited = self.clusters.edit(&self.caller, &cluster(name), &Precondition::default(), next).await;
        edited.map(|(_, outcome)| outcome)
    }

    /// Gives a cluster another kubeconfig.
    pub(crate) async fn replace_kubeconfig(
        &self,
        name: &str,
        kubeconfig: Secret,
    ) -> Result<EditOutcome, Error> {
        self.edit_cluster(name, |old| Registration { kubeconfig: kubeconfig.clone(), ..old }).await
    }

    /// Gives a cluster other labels.
    pub(crate) async fn relabel(&self, name: &str, labels: &[(&str, &str)]) -> Result<EditOutcome, Error> {
        let labels = registration(name, labels).labels;
        self.edit_cluster(name, |old| Registration { labels: labels.clone(), ..old }).await
    }

    pub(crate) fn at(&self, time: &str) {
        self.clock.0.store(time.parse::<Timestamp>().unwrap().as_second(), Ordering::SeqCst);
    }

    pub(crate) fn wait(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds, Ordering::SeqCst);
    }

    /// Sets the clock to so many seconds after the tests' beginning.
    pub(crate) fn at_second(&self, seconds: u64) {
        self.clock.0.store(seconds_from_now(seconds).as_second(), Ordering::SeqCst);
    }

    pub(crate) async fn put(&self, draft: Value) -> Result<Edited, Error> {
        self.clouds.put(&self.caller, &self.project, serde_json::from_value(draft).unwrap()).await
    }

    pub(crate) async fn apply(&self, cloud: &str) -> Result<Applied, Error> {
        self.clouds.apply(&self.caller, &self.project, &name(cloud)).await
    }

    /// Puts the usual cloud, applies it and lets the engine finish.
    pub(crate) async fn instantiated(&self) {
        self.put(draft()).await.unwrap();
        self.apply("shop").await.unwrap();
        self.engine.finish();
    }

    pub(crate) async fn terminate(&self, cloud: &str) -> Result<(), Error> {
        let removal = dcm_core::port::synchronizer::Removal::default();
        self.clouds.terminate(&self.caller, &self.project, &name(cloud), removal).await
    }

    pub(crate) async fn delete(&self, cloud: &str) -> Result<(), Error> {
        self.clouds.delete(&self.caller, &self.project, &name(cloud)).await
    }

    pub(crate) async fn state(&self, cloud: &str) -> String {
        let state = self.clouds.state(&self.project, &name(cloud)).await.unwrap();
        assert_eq!(self.clouds.status(&self.project, &name(cloud)).await.unwrap().state, state);
        state.to_string()
    }

    /// All documents.
    /// All documents, but for those that say what was deleted lately.
    pub(crate) async fn documents(&self) -> BTreeMap<String, Value> {
        let mut all = self.all_documents().await;
        all.retain(|path, _| !path.starts_with("deleted/"));
        all
    }

    pub(crate) async fn all_documents(&self) -> BTreeMap<String, Value> {
        let entries = self.memory.list_all(&Prefix::everything()).await.unwrap();
        entries.into_iter().map(|entry| (entry.path.to_string(), entry.document.read().unwrap())).collect()
    }

    /// The paths of all documents in these rooms.
    pub(crate) async fn paths(&self, rooms: &[&str]) -> Vec<String> {
        let documents = self.documents().await;
        let is_in = |path: &String| rooms.iter().any(|room| path.starts_with(&format!("{room}/")));
        documents.into_keys().filter(is_in).collect()
    }

    /// The documents that belong to logical clouds.
    pub(crate) async fn cloud_paths(&self) -> Vec<String> {
        self.paths(&["logical-clouds", "parts", "snapshots", "credentials", "context-owners"]).await
    }
}

pub(crate) fn name<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

pub(crate) fn cluster(name: &str) -> ClusterId {
    ClusterId::new("sim", name).unwrap()
}

pub(crate) fn registration(name: &str, labels: &[(&str, &str)]) -> Registration {
    Registration {
        labels: labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        ..Registration::new(cluster(name), admin_kubeconfig(name))
    }
}

/// An administrator's kubeconfig with a text that must be seen nowhere.
pub(crate) fn admin_kubeconfig(name: &str) -> Secret {
    let authority = STANDARD.encode(authority::certificate());
    let cluster = json!({
        "server": format!("https://{name}.example:6443"), "certificate-authority-data": authority,
    });
    let file = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "it",
        "clusters": [{"name": "it", "cluster": cluster}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "admin"}}],
        "users": [{"name": "admin", "user": {"token": "admin-token-of-nobody-else"}}],
    });
    Secret::new(file.to_string())
}

pub(crate) fn user(name: &str) -> Value {
    json!({"name": name})
}

pub(crate) fn permission(name: &str) -> Value {
    json!({"name": name, "apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]})
}

/// The usual logical cloud: on two clusters, with a certificate and a token user.
pub(crate) fn draft() -> Value {
    json!({
        "metadata": {"name": "shop", "description": "where people buy"},
        "spec": {
            "namespace": "shop-ns",
            "labels": {"team": "retail"},
            "users": [user("ann"), {"name": "bot", "type": "token"}],
            "permissions": [permission("read")],
            "quotas": [{"name": "small", "hard": {"pods": "10"}}],
            "clusters": [
                {"name": "r1", "provider": "sim", "cluster": "one"},
                {"name": "r2", "provider": "sim", "cluster": "two"},
            ],
            "keyValues": [{"name": "notes", "kv": [{"b": 1}, {"a": 2}]}],
            "manifests": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hello"}}],
        },
    })
}
