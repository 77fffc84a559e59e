//! A simulated world: clusters, a store, and the processes in it.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use dcm_core::app_context::AppContext;
use dcm_core::manifest::Manifest;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::clock::{Clock, Random};
use dcm_core::port::cluster::{Clusters, Object};
use dcm_core::port::proof::{ClusterProofKey, ProofKey};
use dcm_core::port::store::{Prefix, Store};
use dcm_core::status::Intent;
use futures::FutureExt as _;
use futures::channel::oneshot;
use futures::future::BoxFuture;
use jiff::Timestamp;

use super::events::{Event, Events};
use super::executor::{Executor, ProcessId, Step};
use super::fate::{Death, Fate, Gate, OwnClusters};
use super::scenario::Scenario;
use super::store::{SimStore, StoreFaults, StoreSettings};
use super::time::{Skew, VirtualClock};
use super::wish::twin_id;
use crate::proofs;
use crate::record::{self, Root, path};
use crate::sim::{FakeSigner, Faults, Fleet, Link, Seeded, SimCluster, cluster_id};
use crate::tap::Tapped;

/// When the world begins.
const BEGINNING: i64 = 1_767_225_600; // 2026-01-01T00:00:00Z

/// What a simulated process reaches the outside through. Calls may fail, and never return.
pub struct Ports {
    /// The store, which others share.
    pub store: Arc<dyn Store>,
    /// The clusters.
    pub clusters: Arc<dyn Clusters>,
    /// The process's own clock, which may be wrong.
    pub clock: Arc<dyn Clock>,
    /// Its randomness.
    pub random: Arc<dyn Random>,
    /// Ready when the process is asked to stop.
    pub stop: BoxFuture<'static, ()>,
    /// Gives the app contexts that it brings about alone, as a command does where no worker runs; none: it is a worker.
    pub only: Option<BoxFuture<'static, BTreeSet<ContextId>>>,
}

/// A controller under simulation: what each worker process runs. It may be killed at any moment.
pub trait Program: Send + Sync {
    /// Runs until it is done, or asked to stop.
    fn run(&self, ports: Ports) -> BoxFuture<'static, ()>;
}

impl<F: Fn(Ports) -> BoxFuture<'static, ()> + Send + Sync> Program for F {
    fn run(&self, ports: Ports) -> BoxFuture<'static, ()> {
        self(ports)
    }
}

/// A running worker.
struct Worker {
    process: ProcessId,
    fate: Arc<Fate>,
    stop: Option<oneshot::Sender<()>>,
}

/// Somebody who asks for something.
struct Asker {
    process: ProcessId,
    fate: Arc<Fate>,
}

/// A simulated world.
pub struct World<'a> {
    clock: VirtualClock,
    store: SimStore,
    fleet: Arc<Fleet>,
    executor: Executor,
    events: Events,
    program: &'a dyn Program,
    workers: Vec<Worker>,
    askers: Vec<Asker>,
    processes: u32,
    seed: u64,
    random: Seeded,
    alarms: BTreeMap<(Timestamp, u64), Alarm>,
    alarms_count: u64,
    proofs: OnceCell<ProofKey>,
}

/// Something that the world does later.
pub(super) enum Alarm {
    /// A cluster is reached as it should be again.
    LinkUp(ClusterId),
    /// The store is there again.
    StoreUp,
    /// A process goes on.
    Resume(ProcessId),
}

impl<'a> World<'a> {
    /// The world at the beginning of a scenario, with nobody in it.
    #[must_use]
    pub fn new(scenario: &Scenario, program: &'a dyn Program) -> Self {
        let began = Timestamp::from_second(BEGINNING).unwrap_or(Timestamp::UNIX_EPOCH);
        let clock = VirtualClock::starting_at(began);
        let port: Arc<dyn Clock> = Arc::new(clock.clone());
        let events = Events::default();
        let fleet = Fleet::builder(port.clone())
            .clusters(scenario.clusters)
            .seed(scenario.seed)
            .latency(scenario.latency)
            .signers(|_| Some(Arc::new(FakeSigner::default())))
            .witness(Arc::new(events.clone()));
        let fleet = match scenario.twin {
            Some(number) => fleet.alias(twin_id(), cluster_id(number)),
            None => fleet,
        };
        let settings = StoreSettings { atomic_batches: scenario.atomic_batches, latency: scenario.latency };
        let store = SimStore::new(port, settings, scenario.seed);
        store.set_witness(Arc::new(events.clone()));
        Self {
            executor: Executor::new(clock.clone(), scenario.seed),
            clock,
            store,
            fleet: Arc::new(fleet.build()),
            events,
            program,
            workers: Vec::new(),
            askers: Vec::new(),
            processes: 0,
            seed: scenario.seed,
            random: Seeded::named(scenario.seed, "world"),
            alarms: BTreeMap::new(),
            alarms_count: 0,
            proofs: OnceCell::new(),
        }
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) fn program(&self) -> &'a dyn Program {
        self.program
    }

    /// The store, as nobody's process reaches it.
    #[must_use]
    pub fn store(&self) -> &SimStore {
        &self.store
    }

    /// What proves that marks on objects of a cluster are ours; none before a worker has made the key.
    #[must_use]
    pub fn proofs(&self, cluster: &ClusterId) -> Option<ClusterProofKey> {
        let uid = self.fleet.cluster(cluster)?.server(|server| server.uid());
        self.proof_key().map(|key| key.on(&uid))
    }

    fn proof_key(&self) -> Option<ProofKey> {
        let made = || {
            let documents = self.store.documents(&Prefix::everything());
            let entry = documents.into_iter().find(|entry| entry.path == path::proofs())?;
            proofs::read(&entry).ok()
        };
        // It stays as it is made.
        if self.proofs.get().is_none()
            && let Some(key) = made()
        {
            // Nobody else sets it.
            let _ = self.proofs.set(key);
        }
        self.proofs.get().cloned()
    }

    /// The objects of a cluster; only marks with their proof count.
    #[must_use]
    pub fn objects(&self, cluster: &ClusterId) -> Vec<Object> {
        let proofs = self.proofs(cluster);
        let Some(cluster) = self.fleet.cluster(cluster) else { return Vec::new() };
        let mut objects: Vec<Object> = cluster.server(|server| server.objects().collect());
        objects.iter_mut().for_each(|object| object.disclaim_unproved(proofs.as_ref()));
        objects
    }

    /// The clusters.
    #[must_use]
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// The cluster of a number.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn cluster(&self, number: usize) -> &SimCluster {
        let cluster = self.fleet.cluster(&cluster_id(number));
        cluster.unwrap_or_else(|| panic!("there is no cluster {number}"))
    }

    pub(super) fn events(&self) -> &Events {
        &self.events
    }

    /// What has happened since this was asked last.
    #[must_use]
    pub fn take_events(&self) -> Vec<Event> {
        self.events.take()
    }

    fn process(&mut self) -> (ProcessId, Arc<Fate>) {
        self.processes += 1;
        let process = ProcessId(self.processes);
        (process, Fate::new(process, self.events.clone(), Arc::new(self.clock.clone())))
    }

    fn store_of(&self, fate: &Arc<Fate>) -> Arc<dyn Store> {
        let store: Arc<dyn Store> = Arc::new(self.store.clone());
        Arc::new(Tapped::new(store, Arc::new(Gate { fate: fate.clone(), cluster: None })))
    }

    /// Starts a worker.
    pub fn start_worker(&mut self, skew: Skew) {
        let (process, fate) = self.process();
        let (stop, stopped) = oneshot::channel();
        let clusters = OwnClusters { clusters: self.fleet.clone(), fate: fate.clone() };
        let ports = Ports {
            store: self.store_of(&fate),
            clusters: Arc::new(clusters),
            clock: self.clock.skewed(skew),
            random: Arc::new(Seeded::new(self.random.next())),
            // A sender that is dropped is no wish to stop.
            stop: stopped
                .then(|asked| async move {
                    if asked.is_err() {
                        std::future::pending::<()>().await;
                    }
                })
                .boxed(),
            only: None,
        };
        self.executor.spawn(process, self.program.run(ports));
        self.workers.push(Worker { process, fate, stop: Some(stop) });
    }

    /// Starts something that somebody does who may die over it, and whom nobody asks to stop.
    pub fn spawn(
        &mut self,
        death: Option<Death>,
        work: impl FnOnce(Ports) -> BoxFuture<'static, ()>,
    ) -> ProcessId {
        let (process, fate) = self.process();
        let ports = Ports {
            store: self.store_of(&fate),
            clusters: Arc::new(OwnClusters { clusters: self.fleet.clone(), fate: fate.clone() }),
            clock: Arc::new(self.clock.clone()),
            random: Arc::new(Seeded::named(self.seed, &format!("asker {}", process.0))),
            stop: std::future::pending().boxed(),
            only: None,
        };
        self.executor.spawn(process, work(ports));
        death.into_iter().for_each(|death| fate.decide(death));
        self.askers.push(Asker { process, fate });
        process
    }

    /// The app contexts that are wanted, as the store has them.
    #[must_use]
    pub fn wanted(&self) -> Vec<AppContext> {
        self.known_contexts().iter().filter_map(|id| self.stored(id)).collect()
    }

    pub(super) fn known_contexts(&self) -> BTreeSet<ContextId> {
        let roots = self.store.documents(&path::contexts());
        roots.iter().filter_map(|root| path::context_of_root(&root.path)).collect()
    }

    /// An app context that is wanted, as the store has it.
    pub(super) fn stored(&self, id: &ContextId) -> Option<AppContext> {
        let root = self.store.documents(&Prefix::below(&path::context_folder(id)));
        let root: Root =
            record::read(root.first()?).ok().filter(|root: &Root| root.intent == Intent::Present)?;
        let manifests = self.store.documents(&path::manifests(id)).into_iter();
        let manifests: Vec<Manifest> =
            manifests.filter_map(|entry| record::read_manifest(&entry).ok()).collect();
        let manifests = manifests.into_iter().map(|manifest| (manifest.hash(), manifest)).collect();
        let mut placements = BTreeMap::new();
        for (_, placed) in root.placements.bundles() {
            let bundle = Arc::new(record::bundle(&placed.steps, &manifests).ok()?);
            placements.extend(placed.clusters.iter().map(|cluster| (cluster.clone(), bundle.clone())));
        }
        let (labels, removal) = ((*root.labels).clone(), root.removal_policy);
        Some(AppContext { id: id.clone(), labels, removal, placements })
    }

    /// True while a process has work left.
    #[must_use]
    pub fn is_alive(&self, process: ProcessId) -> bool {
        self.executor.is_alive(process)
    }

    /// How many workers run that nobody has asked to stop.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.workers.iter().filter(|worker| worker.stop.is_some()).count()
    }

    fn worker(&mut self, number: usize) -> Option<&mut Worker> {
        let count = self.workers.len().max(1);
        self.workers.get_mut(number % count)
    }

    /// Lets a worker die at one of its next calls.
    pub fn kill_worker(&mut self, number: usize, death: Death) {
        if let Some(worker) = self.worker(number) {
            worker.fate.decide(death);
        }
    }

    /// Asks a worker to stop.
    pub fn stop_worker(&mut self, number: usize) {
        if let Some(stop) = self.worker(number).and_then(|worker| worker.stop.take()) {
            // It may have ended by itself.
            let _ = stop.send(());
        }
    }

    /// Lets a worker stand still for a while.
    pub fn suspend_worker(&mut self, number: usize, lasting: Duration) {
        let Some(process) = self.worker(number).map(|worker| worker.process) else { return };
        self.executor.suspend(process);
        self.set_alarm(lasting, Alarm::Resume(process));
    }

    /// Sets how a cluster is reached, for a while.
    pub fn set_link(&mut self, number: usize, link: Link, lasting: Duration) {
        self.cluster(number).set_link(link);
        self.set_alarm(lasting, Alarm::LinkUp(cluster_id(number)));
    }

    /// Takes the store away for a while.
    pub fn take_store_down(&mut self, lasting: Duration) {
        self.store.set_down(true);
        self.set_alarm(lasting, Alarm::StoreUp);
    }

    fn set_alarm(&mut self, wait: Duration, alarm: Alarm) {
        self.alarms_count += 1;
        self.alarms.insert((self.now() + wait, self.alarms_count), alarm);
    }

    fn ring(&mut self, alarm: Alarm) {
        match alarm {
            Alarm::LinkUp(cluster) => {
                self.fleet.cluster(&cluster).into_iter().for_each(|cluster| cluster.set_link(Link::Up));
            }
            Alarm::StoreUp => self.store.set_down(false),
            Alarm::Resume(process) => self.executor.resume(process),
        }
    }

    /// Nothing goes wrong any more on the way to clusters and store, and nobody is going to die.
    pub fn heal(&mut self) {
        while let Some((_, alarm)) = self.alarms.pop_first() {
            self.ring(alarm);
        }
        self.store.set_faults(StoreFaults::default());
        let ids: Vec<_> = self.fleet.ids().cloned().collect();
        for cluster in ids.iter().filter_map(|id| self.fleet.cluster(id)) {
            cluster.set_faults(Faults::NONE);
            cluster.set_link(Link::Up);
        }
        let fates = self.workers.iter().map(|worker| &worker.fate);
        fates.chain(self.askers.iter().map(|asker| &asker.fate)).for_each(|fate| fate.spare());
    }

    /// Goes one step on. False when nothing more happens until then.
    pub fn step(&mut self, until: Timestamp) -> bool {
        let alarm = self.alarms.first_key_value().map(|((at, _), _)| *at).filter(|at| *at <= until);
        let step = self.executor.step(alarm.unwrap_or(until));
        if step == Step::Waited {
            self.store.advance();
            self.fleet.advance();
        }
        self.bury();
        if step != Step::Idle {
            return true;
        }
        match self.alarms.first_entry().filter(|entry| entry.key().0 <= self.clock.now()) {
            Some(entry) => {
                let alarm = entry.remove();
                self.ring(alarm);
                true
            }
            None => false,
        }
    }

    /// Takes away who has died, and who has ended.
    fn bury(&mut self) {
        let executor = &mut self.executor;
        let mut is_alive = |process: ProcessId, fate: &Fate| {
            if fate.is_dead() {
                executor.kill(process);
            }
            executor.is_alive(process)
        };
        self.workers.retain(|worker| is_alive(worker.process, &worker.fate));
        self.askers.retain(|asker| is_alive(asker.process, &asker.fate));
    }
}
