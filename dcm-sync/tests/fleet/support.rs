//! A large fleet, a store, workers that run the production engine, and app contexts to give them: all in one thread and
//! in virtual time.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use dcm_core::app_context::{
    Action, AppContext, Bundle, CertificateRequest, Drift, Existing, Request, Stage, Step, TokenRequest,
};
use dcm_core::manifest::Manifest;
use dcm_core::name::{AppName, ContextId};
use dcm_core::port::clock::Clock as _;
use dcm_core::port::cluster::Clusters;
use dcm_core::port::store::Store;
use dcm_core::port::synchronizer::{Removal, Synchronizer as _};
use dcm_core::status::{ContextStatus, Progress};
use dcm_store::memory::MemoryStore;
use dcm_sync::Contexts;
use dcm_sync::engine::{Engine, Options};
use dcm_sync::sim::{FakeSigner, Fleet, Latency, Link, RequestLog, Seeded, SimCluster, cluster_id};
use dcm_sync::simulation::{self, Executor, ProcessId, VirtualClock};
use dcm_sync::tap::Tapped;
use futures::{FutureExt as _, StreamExt as _};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::wire::{Requests, Writes};

/// Longer than any test by far.
const NEVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Longer than anything takes: a bound on liveness, not on speed.
const SOON: Duration = Duration::from_secs(3600);

/// How often a status is looked at while something is awaited: what it says is exact all the same.
const LOOKS: Duration = Duration::from_secs(1);

/// As far away as clusters on several continents are.
pub const LATENCY: Latency = Latency { min: Duration::from_millis(20), max: Duration::from_millis(80) };

/// A worker, by what it sends to clusters and writes to the store.
pub struct Worker {
    process: ProcessId,
    pub requests: Arc<Requests>,
    pub writes: Arc<Writes>,
}

pub struct World {
    clock: VirtualClock,
    store: Arc<dyn Store>,
    fleet: Arc<Fleet>,
    executor: Executor,
    processes: u32,
    /// An engine stops when its last handle goes.
    engines: BTreeMap<ProcessId, Engine>,
}

impl World {
    pub fn new(clusters: usize) -> Self {
        let clock = VirtualClock::starting_at(Timestamp::UNIX_EPOCH);
        let fleet = Fleet::builder(Arc::new(clock.clone()))
            .clusters(clusters)
            .latency(LATENCY)
            .signers(|_| Some(Arc::new(FakeSigner::default())))
            .build();
        let executor = Executor::new(clock.clone(), 1);
        Self {
            clock,
            store: Arc::new(MemoryStore::new()),
            fleet: Arc::new(fleet),
            executor,
            processes: 0,
            engines: BTreeMap::new(),
        }
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub fn contexts(&self) -> Contexts {
        Contexts::new(self.store.clone(), Arc::new(self.clock.clone()))
    }

    pub fn set_links(&self, clusters: impl IntoIterator<Item = usize>, link: Link) {
        clusters.into_iter().for_each(|number| self.cluster(number).set_link(link));
    }

    fn cluster(&self, number: usize) -> &SimCluster {
        self.fleet.cluster(&cluster_id(number)).unwrap()
    }

    fn process(&mut self) -> ProcessId {
        self.processes += 1;
        ProcessId(self.processes)
    }

    /// Starts a worker with the default options, but that it tries no credentials again: that begins at a random time.
    pub fn start_worker(&mut self) -> Worker {
        self.start_worker_with(Options { trial_interval: NEVER, ..Options::default() })
    }

    pub fn start_worker_with(&mut self, options: Options) -> Worker {
        let (process, seed) = (self.process(), u64::from(self.processes));
        let (requests, writes) = (Arc::<Requests>::default(), Arc::<Writes>::default());
        let fleet: Arc<dyn Clusters> = self.fleet.clone();
        let clusters = Arc::new(Tapped::new(fleet, requests.clone()));
        let store = Arc::new(Tapped::new(self.store.clone(), writes.clone()));
        let builder = Engine::builder(store, clusters).options(options);
        let (engine, run) = builder.build(Arc::new(self.clock.clone()), &Seeded::new(seed));
        self.executor.spawn(process, run.boxed());
        self.engines.insert(process, engine);
        Worker { process, requests, writes }
    }

    /// Ends a worker in the middle of what it does.
    pub fn kill(&mut self, worker: &Worker) {
        self.executor.kill(worker.process);
        self.engines.remove(&worker.process);
    }

    /// How many clusters a worker is connected to.
    pub fn connected(&mut self, worker: &Worker) -> u64 {
        let engine = self.engines[&worker.process].clone();
        self.run(async move { engine.metrics().await }).unwrap().clusters_connected
    }

    /// What arrived at all clusters, counted so.
    pub fn arrived(&self, count: impl Fn(&RequestLog) -> u64) -> u64 {
        self.clusters().map(|cluster| cluster.server(|server| count(server.requests()))).sum()
    }

    /// Lets all clusters forget what arrived.
    pub fn forget_arrivals(&self) {
        self.clusters().for_each(|cluster| cluster.server(|server| server.requests_mut().clear()));
    }

    fn clusters(&self) -> impl Iterator<Item = &SimCluster> {
        self.fleet.ids().map(|id| self.fleet.cluster(id).unwrap())
    }

    /// Follows a context's status: each one that is told.
    pub fn follow(&mut self, id: &ContextId) -> Arc<Mutex<Vec<ContextStatus>>> {
        let (contexts, id) = (self.contexts(), id.clone());
        let told = Arc::<Mutex<Vec<_>>>::default();
        let place = told.clone();
        let following = async move {
            let mut statuses = contexts.watch(&id).await.unwrap();
            while let Some(status) = statuses.next().await {
                place.lock().unwrap().push(status.unwrap());
            }
        };
        let process = self.process();
        self.executor.spawn(process, following.boxed());
        told
    }

    /// Lets time go on.
    pub fn pass(&mut self, time: Duration) {
        let until = self.now() + time;
        while self.executor.step(until) != simulation::Step::Idle {}
    }

    /// Does something, and lets time go on until it is done.
    pub fn run<T: Send + 'static>(&mut self, work: impl Future<Output = T> + Send + 'static) -> T {
        let (process, until) = (self.process(), self.now() + SOON);
        let done = Arc::new(Mutex::new(None));
        let place = done.clone();
        self.executor.spawn(process, async move { *place.lock().unwrap() = Some(work.await) }.boxed());
        while self.executor.is_alive(process) {
            assert_ne!(self.executor.step(until), simulation::Step::Idle, "it does not come to an end");
        }
        done.lock().unwrap().take().unwrap()
    }

    pub fn apply(&mut self, context: AppContext) {
        let contexts = self.contexts();
        self.run(async move { contexts.apply(&context).await }).unwrap();
    }

    pub fn status(&mut self, id: &ContextId) -> ContextStatus {
        let (contexts, id) = (self.contexts(), id.clone());
        self.run(async move { contexts.status(&id).await }).unwrap().unwrap()
    }

    /// Looks at a context's status now and then until it is so.
    pub fn until(&mut self, id: &ContextId, is_so: impl Fn(&ContextStatus) -> bool) -> ContextStatus {
        let end = self.now() + SOON;
        loop {
            let status = self.status(id);
            if is_so(&status) {
                return status;
            }
            assert!(self.now() < end, "it never came to that");
            self.pass(LOOKS);
        }
    }

    /// Waits until a context is done, and nothing of what that needed is left on its clusters.
    pub fn converge(&mut self, id: &ContextId) {
        let (contexts, id) = (self.contexts(), id.clone());
        let waiting = async move {
            let status = contexts.wait_until_done(&id).await.unwrap();
            contexts.wait_until_tidy(&id).await.unwrap();
            status.progress
        };
        assert_eq!(self.run(waiting), Progress::Done);
    }
}

pub fn context_id(number: usize) -> ContextId {
    ContextId::new(format!("lc-{number}")).unwrap()
}

/// A logical cloud, as it is handed over for the first clusters of a fleet.
pub fn logical_cloud(number: usize, clusters: usize) -> AppContext {
    context(number, clusters, cloud_steps(number))
}

/// An app context on the first clusters of a fleet.
pub fn context(number: usize, clusters: usize, steps: Vec<Step>) -> AppContext {
    let bundle = Arc::new(Bundle::new(steps).unwrap());
    let placements = (1..=clusters).map(|number| (cluster_id(number), bundle.clone())).collect();
    AppContext { id: context_id(number), labels: BTreeMap::new(), removal: Removal::default(), placements }
}

/// A namespace, a quota, two roles and a service account in it, a certificate and a token.
fn cloud_steps(number: usize) -> Vec<Step> {
    let team = format!("team-{number}");
    let certificate = CertificateRequest {
        object_name: format!("{team}-developer").into(),
        csr_pem: CSR_PEM.clone(),
        signer: "kubernetes.io/kube-apiserver-client".into(),
        lifetime_seconds: Some(3600),
    };
    let token = TokenRequest {
        namespace: team.as_str().into(),
        service_account: "ci".into(),
        lifetime_seconds: Some(3600),
    };
    let role = |name| {
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name, "namespace": team},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]})
    };
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "size", "namespace": team},
        "spec": {"hard": {"pods": "10"}}});
    let account =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "ci", "namespace": team}});
    vec![
        namespace(number),
        apply(1, quota),
        apply(2, role("reader")),
        apply(2, role("writer")),
        apply(2, account),
        request(3, "developer", Request::Certificate(certificate)),
        request(3, "ci", Request::Token(token)),
    ]
}

/// The namespace of a context.
pub fn namespace(number: usize) -> Step {
    apply(0, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": format!("team-{number}")}}))
}

fn apply(stage: u16, body: Value) -> Step {
    let manifest = Manifest::new(body).unwrap();
    let action = Action::Apply { manifest, existing: Existing::Refuse, drift: Drift::default() };
    Step { app: AppName::new("app").unwrap(), stage: Stage(stage), action }
}

fn request(stage: u16, name: &str, request: Request) -> Step {
    let action = Action::Request { name: name.into(), request };
    Step { app: AppName::new("app").unwrap(), stage: Stage(stage), action }
}

/// One request for all contexts: its key is nobody's.
static CSR_PEM: LazyLock<Arc<str>> = LazyLock::new(|| {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::default();
    parameters.distinguished_name.push(rcgen::DnType::CommonName, "developer");
    parameters.serialize_request(&key).unwrap().pem().unwrap().into()
});
