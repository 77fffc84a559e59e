//! The thin shell around the machine: carries out its effects and tells it what became of them.
//!
//! One future does it all, with no runtime of its own: requests, watches and timers are polled in it, in a fixed order
//! where several are ready, so that a run can be replayed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::manifest::GroupVersionKind;
use dcm_core::name::ClusterId;
use dcm_core::port::clock::Clock;
use dcm_core::port::cluster::{self, Call, Cluster, Clusters, Fence, Selection, Watch};
use dcm_core::port::proof::{PROOF_BYTES, ProofKey};
use dcm_core::port::store::Store;
use dcm_core::port::threads::{self, Threads};
use dcm_core::port::trial::PrivateKeys;
use futures::channel::mpsc;
use futures::future::{self, AbortHandle, AbortRegistration, BoxFuture, Either, FutureExt as _};
use futures::stream::{Abortable, BoxStream, FuturesUnordered, SelectAll, StreamExt as _};
use jiff::Timestamp;

use super::Command;
use super::calls;
use super::comparing::Comparisons;
use super::event::Event;
use super::flights::Flights;
use super::follow::{Followed, RETRY_WAIT, follow};
use super::io::{ClusterCall, Effect, Epoch, Identified, Input, Sign};
use super::machine::Machine;
use super::metrics::{Counters, Verb};
use super::observed::{Answered, Asked};
use super::options::Options;
use super::pace::{Pace, Timed};
use super::telling::{Telling, Told, Turn};
use crate::identities;
use crate::proofs;
use crate::record::{self, path};

/// What an engine reaches the outside through.
#[derive(Clone)]
pub(crate) struct Ports {
    pub store: Arc<dyn Store>,
    pub clusters: Arc<dyn Clusters>,
    pub clock: Arc<dyn Clock>,
    pub keys: Arc<dyn PrivateKeys>,
    pub threads: Arc<dyn Threads>,
}

/// What a finished task leaves.
pub(super) enum Outcome {
    Input(Box<Input>),
    /// An event of a watch, and its turn.
    Heard(Turn, Box<Input>),
    /// Comparisons that this needed; none if they could not be made.
    Compared(Option<Comparisons>, Box<Self>),
    /// A cluster was asked, and what became of that.
    Answered(Answered, Box<Self>),
    /// What was asked of a cluster beside that, with the same purpose.
    Counted(Answered, Box<Self>),
    Connected(ClusterId, Epoch, Result<(Arc<dyn Cluster>, Identified), cluster::Error>),
    Watching(Opening, Result<Watch, cluster::Error>),
    Key(ProofKey),
    Nothing,
}

impl Outcome {
    /// The input of the machine in it.
    fn input(&mut self) -> Option<&mut Input> {
        match self {
            Self::Input(input) | Self::Heard(_, input) => Some(input),
            Self::Compared(_, inner) | Self::Answered(_, inner) | Self::Counted(_, inner) => inner.input(),
            Self::Connected(..) | Self::Watching(..) | Self::Key(_) | Self::Nothing => None,
        }
    }
}

/// A watch that is opened. It counts for nothing once another one is opened in its place.
pub(super) struct Opening {
    cluster: ClusterId,
    epoch: Epoch,
    kind: GroupVersionKind,
    registration: AbortRegistration,
}

/// There is no connection to send a request over.
#[derive(Debug, thiserror::Error)]
#[error("the connection is gone")]
struct Disconnected;

/// What wakes the shell.
enum Woken {
    Command(Option<Command>),
    Task(Outcome),
    Told(Box<Told>),
    Followed(Part, Followed),
    Time,
}

/// The parts of the store that are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Workers,
    Shards,
    Contexts,
}

/// How many parts of the store are followed.
const PARTS: usize = 3;

pub(crate) struct Shell {
    machine: Machine,
    options: Options,
    ports: Ports,
    commands: mpsc::UnboundedReceiver<Command>,
    commands_open: bool,
    subscribers: Vec<mpsc::Sender<Event>>,
    tasks: FuturesUnordered<Timed<BoxFuture<'static, Outcome>>>,
    /// What opens connections and watches: whoever stops does not wait for it, as nothing comes of it.
    openings: FuturesUnordered<Timed<BoxFuture<'static, Outcome>>>,
    watches: SelectAll<Abortable<Timed<Telling>>>,
    aborts: BTreeMap<ClusterId, BTreeMap<GroupVersionKind, AbortHandle>>,
    followed: SelectAll<Timed<BoxStream<'static, (Part, Followed)>>>,
    listed: BTreeSet<Part>,
    /// The installation's key, until the machine is told.
    key: Option<ProofKey>,
    /// The connection that each cluster is to have: what an earlier one still becomes counts for nothing.
    epochs: BTreeMap<ClusterId, Epoch>,
    clients: BTreeMap<ClusterId, (Epoch, Arc<dyn Cluster>)>,
    timer: Option<(Timestamp, BoxFuture<'static, ()>)>,
    stopped: bool,
    counters: Counters,
    flights: Flights,
    pace: Pace,
}

impl Shell {
    pub(crate) fn new(
        machine: Machine,
        options: Options,
        ports: Ports,
        commands: mpsc::UnboundedReceiver<Command>,
        key: [u8; PROOF_BYTES],
    ) -> Self {
        let pace = Pace::new(ports.clock.clone());
        let mut followed = SelectAll::new();
        let parts = [
            (Part::Workers, path::workers()),
            (Part::Shards, path::shards()),
            (Part::Contexts, path::contexts()),
        ];
        for (part, prefix) in parts {
            let changes = follow(ports.store.clone(), ports.clock.clone(), prefix);
            followed.push(pace.timed(changes.map(move |change| (part, change)).boxed()));
        }
        let openings = FuturesUnordered::new();
        let key = proofs::key_at_last(ports.store.clone(), ports.clock.clone(), key, RETRY_WAIT);
        openings.push(pace.timed(key.map(Outcome::Key).boxed()));
        Self {
            machine,
            options,
            ports,
            commands,
            commands_open: true,
            subscribers: Vec::new(),
            tasks: FuturesUnordered::new(),
            openings,
            watches: SelectAll::new(),
            aborts: BTreeMap::new(),
            followed,
            listed: BTreeSet::new(),
            key: None,
            epochs: BTreeMap::new(),
            clients: BTreeMap::new(),
            timer: None,
            stopped: false,
            counters: Counters::default(),
            flights: Flights::default(),
            pace,
        }
    }

    /// Runs until the engine is stopped and everything is given back.
    pub(crate) async fn run(&mut self) {
        let pace = self.pace.clone();
        while !self.stopped || !self.tasks.is_empty() {
            let woken = self.wait().await;
            pace.step(|| self.woken(woken));
        }
    }

    fn woken(&mut self, woken: Woken) {
        match woken {
            Woken::Command(command) => self.command(command),
            Woken::Task(outcome) => self.compare_and_finish(outcome),
            Woken::Told(told) => {
                let Told { cluster, epoch, kind, event, turn } = *told;
                let input = Input::Watched(cluster, epoch, kind, event);
                self.compare_and_finish(Outcome::Heard(turn, Box::new(input)));
            }
            Woken::Followed(part, change) => self.changed(part, change),
            Woken::Time => {
                self.timer = None;
                self.tell(Input::Wake);
            }
        }
        while let Some(scope) = self.flights.next_quiet() {
            self.tell(Input::Quiet(scope));
        }
    }

    /// Finishes a task when what it needs is compared.
    fn compare_and_finish(&mut self, outcome: Outcome) {
        let (made, mut outcome) = match outcome {
            Outcome::Compared(Some(made), outcome) => (made, *outcome),
            // What could not be made is made where it is looked up.
            Outcome::Compared(None, outcome) => return self.finished(*outcome, Comparisons::default()),
            outcome => (Comparisons::default(), outcome),
        };
        let pairs = outcome.input().map(|input| self.machine.uncompared(input, &made)).unwrap_or_default();
        if pairs.is_empty() {
            return self.finished(outcome, made);
        }
        let threads = self.ports.threads.clone();
        let compare = async move {
            let made = threads::computed(&*threads, move || made.with(pairs)).await;
            Outcome::Compared(made, Box::new(outcome))
        };
        self.tasks.push(self.pace.timed(compare.boxed()));
    }

    async fn wait(&mut self) -> Woken {
        self.set_timer();
        let timer = match &mut self.timer {
            Some((_, sleep)) => Either::Left(sleep),
            None => Either::Right(future::pending()),
        };
        let mut timer = timer.fuse();
        let command = if self.commands_open {
            Either::Left(self.commands.next())
        } else {
            Either::Right(future::pending())
        };
        let mut command = command.fuse();
        futures::select_biased! {
            command = command => Woken::Command(command),
            outcome = self.tasks.select_next_some() => Woken::Task(outcome),
            outcome = self.openings.select_next_some() => Woken::Task(outcome),
            told = self.watches.select_next_some() => Woken::Told(Box::new(told)),
            change = self.followed.select_next_some() => Woken::Followed(change.0, change.1),
            () = timer => Woken::Time,
        }
    }

    fn set_timer(&mut self) {
        let Some(at) = self.machine.next_wake().filter(|_| !self.stopped) else {
            self.timer = None;
            return;
        };
        if self.timer.as_ref().is_none_or(|(set, _)| *set != at) {
            let wait = at.duration_since(self.ports.clock.now());
            let wait = wait.try_into().unwrap_or_default();
            self.timer = Some((at, self.ports.clock.sleep(wait)));
        }
    }

    fn command(&mut self, command: Option<Command>) {
        match command {
            Some(Command::Subscribe(subscriber)) => self.subscribers.push(subscriber),
            Some(Command::Metrics(asker)) => {
                let gauges = self.machine.gauges(self.ports.clock.now());
                // Whoever asked may have gone.
                let _ = asker.send(self.counters.complete(gauges, self.pace.longest()));
            }
            Some(Command::Stop) => self.tell(Input::Stop),
            // Every handle is gone: nobody can ask for anything any more.
            None => {
                self.commands_open = false;
                self.tell(Input::Stop);
            }
        }
    }

    fn changed(&mut self, part: Part, change: Followed) {
        match (part, change) {
            (part, Followed::Listed) => {
                self.listed.insert(part);
                self.begin();
            }
            (Part::Contexts, Followed::Put(entry)) => self.context_changed(&entry.path),
            (Part::Contexts, Followed::Deleted(path)) => self.context_changed(&path),
            (Part::Workers, Followed::Put(entry)) => self.worker_changed(&entry.path, Some(Sign::of(&entry))),
            (Part::Workers, Followed::Deleted(path)) => self.worker_changed(&path, None),
            (Part::Shards, Followed::Put(entry)) => {
                let Some(cluster) = path::cluster_of(&entry.path) else { return };
                match record::read(&entry) {
                    Ok(record) => self.tell(Input::ShardChanged(cluster, Some((record, entry.version)))),
                    Err(error) => {
                        let error = &error as &dyn std::error::Error;
                        tracing::warn!(path = %entry.path, error, "a shard's record can't be read");
                    }
                }
            }
            (Part::Shards, Followed::Deleted(path)) => {
                if let Some(cluster) = path::cluster_of(&path) {
                    self.tell(Input::ShardChanged(cluster, None));
                }
            }
        }
    }

    /// Tells the machine, once, when all is known that it begins with.
    fn begin(&mut self) {
        if self.listed.len() == PARTS
            && let Some(key) = self.key.take()
        {
            self.tell(Input::Listed(key));
        }
    }

    fn context_changed(&mut self, path: &dcm_core::port::store::Path) {
        if let Some(context) = path::context_of_root(path) {
            self.tell(Input::ContextChanged(context));
        }
    }

    fn worker_changed(&mut self, path: &dcm_core::port::store::Path, sign: Option<Sign>) {
        if let Some(worker) = path::worker_of(path) {
            self.tell(Input::WorkerChanged(worker, sign));
        }
    }

    fn finished(&mut self, outcome: Outcome, made: Comparisons) {
        match outcome {
            Outcome::Input(input) => {
                if let Input::LaneSaved(id, ..) = &*input {
                    self.flights.ended(&id.cluster, Some(&id.context));
                }
                self.tell_compared(*input, made);
            }
            Outcome::Heard(turn, input) if turn.is_over() => {
                drop(input);
                self.dispose(made);
            }
            Outcome::Heard(_, input) => self.tell_compared(*input, made),
            Outcome::Compared(_, outcome) => self.finished(*outcome, made),
            Outcome::Answered(Answered { cluster, context, verb, code, took }, outcome) => {
                self.flights.ended(&cluster, context.as_ref());
                self.counters.answered(&cluster, verb, code, took);
                self.finished(*outcome, made);
            }
            Outcome::Counted(Answered { cluster, verb, code, took, .. }, outcome) => {
                self.counters.answered(&cluster, verb, code, took);
                self.finished(*outcome, made);
            }
            Outcome::Connected(cluster, epoch, connected) => self.connected(cluster, epoch, connected),
            Outcome::Watching(opening, watch) => self.watching(opening, watch),
            Outcome::Key(key) => {
                self.key = Some(key);
                self.begin();
            }
            Outcome::Nothing => {}
        }
    }

    fn connected(
        &mut self,
        cluster: ClusterId,
        epoch: Epoch,
        connected: Result<(Arc<dyn Cluster>, Identified), cluster::Error>,
    ) {
        if self.epochs.get(&cluster) != Some(&epoch) {
            return;
        }
        let connected = connected.map(|(client, uid)| {
            self.clients.insert(cluster.clone(), (epoch, client));
            uid
        });
        self.tell(Input::Connected(cluster, epoch, connected));
    }

    fn watching(&mut self, opening: Opening, watch: Result<Watch, cluster::Error>) {
        let Opening { cluster, epoch, kind, registration } = opening;
        let is_current = self.clients.get(&cluster).is_some_and(|(current, _)| *current == epoch);
        match watch {
            _ if registration.handle().is_aborted() => {}
            Ok(watch) if is_current => {
                let telling = Telling::new(cluster, epoch, kind, watch, registration.handle());
                self.watches.push(Abortable::new(self.pace.timed(telling), registration));
            }
            Ok(_) => {}
            Err(error) => self.tell(Input::Watched(cluster, epoch, kind, Err(error))),
        }
    }

    /// A watch is opened: one that was opened before on the same kind, or is still being opened, is heard no more. Its list would
    /// be taken for the one that is asked for now.
    fn register(&mut self, cluster: ClusterId, epoch: Epoch, kind: GroupVersionKind) -> Opening {
        let (abort, registration) = AbortHandle::new_pair();
        let earlier = self.aborts.entry(cluster.clone()).or_default().insert(kind.clone(), abort);
        earlier.iter().for_each(AbortHandle::abort);
        Opening { cluster, epoch, kind, registration }
    }

    fn tell(&mut self, input: Input) {
        self.tell_compared(input, Comparisons::default());
    }

    fn tell_compared(&mut self, input: Input, made: Comparisons) {
        let (effects, made) = self.machine.handle_compared(input, made, self.ports.clock.now());
        self.dispose(made);
        for effect in effects {
            self.carry_out(effect);
        }
    }

    /// Drops comparisons, with the large objects that were compared, on another thread.
    fn dispose(&mut self, made: Comparisons) {
        if made.is_empty() {
            return;
        }
        let dropped = self.ports.threads.compute(Box::new(move || drop(made)));
        self.tasks.push(self.pace.timed(dropped.map(|()| Outcome::Nothing).boxed()));
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Publish(event) => self.publish(&event),
            Effect::Disconnect(cluster) => self.disconnect(&cluster),
            Effect::Stopped => self.stopped = true,
            Effect::AwaitQuiet(scope) => self.flights.await_quiet(scope),
            Effect::Connect(cluster, epoch) => {
                self.epochs.insert(cluster.clone(), epoch);
                let opening = self.connect(cluster, epoch);
                self.openings.push(self.pace.timed(opening));
            }
            Effect::Watch(cluster, epoch, kind, call) => {
                let opening = self.register(cluster, epoch, kind);
                let opening = self.watch(opening, call);
                self.openings.push(self.pace.timed(opening));
            }
            effect => {
                let task = self.task(effect).map(|task| self.pace.timed(task));
                self.tasks.extend(task);
            }
        }
    }

    /// The task behind an effect that has one.
    fn task(&mut self, effect: Effect) -> Option<BoxFuture<'static, Outcome>> {
        let store = self.ports.store.clone();
        Some(match effect {
            Effect::Publish(_)
            | Effect::Disconnect(_)
            | Effect::Stopped
            | Effect::AwaitQuiet(_)
            | Effect::Connect(..)
            | Effect::Watch(..) => return None,
            Effect::LoadContext(id) => calls::load_context(store, self.ports.threads.clone(), id).boxed(),
            Effect::Bury(id) => calls::bury(store, self.ports.clock.clone(), id).boxed(),
            Effect::LoadLane(id, ticket) => calls::load_lane(store, id, ticket).boxed(),
            Effect::LoadSession(worker) => calls::load_session(store, worker).boxed(),
            Effect::SaveLane(save) => {
                self.flights.begun(&save.id.cluster, Some(&save.id.context));
                calls::save_lane(store, save).boxed()
            }
            Effect::SaveSession { worker, record, version } => {
                calls::save_session(store, worker, record, version).boxed()
            }
            Effect::DeleteSession { worker, version } => {
                calls::delete_session(store, worker, version).boxed()
            }
            Effect::SaveShard { cluster, record, version } => {
                calls::save_shard(store, cluster, record, version).boxed()
            }
            Effect::Call(request) => self.call(*request),
        })
    }

    fn call(&mut self, request: ClusterCall) -> BoxFuture<'static, Outcome> {
        match self.client(&request.cluster, request.epoch) {
            Ok(client) => {
                self.flights.begun(&request.cluster, request.call.context.as_ref());
                let (store, clock) = (self.ports.store.clone(), self.ports.clock.clone());
                let keys = self.ports.keys.clone();
                calls::call(client, store, clock, keys, request).boxed()
            }
            Err(error) => {
                let answer = Input::Replied(request.ticket, Err(error));
                future::ready(Outcome::Input(Box::new(answer))).boxed()
            }
        }
    }

    fn connect(&mut self, cluster: ClusterId, epoch: Epoch) -> BoxFuture<'static, Outcome> {
        self.flights.begun(&cluster, None);
        let clusters = self.ports.clusters.clone();
        let limit = self.options.request_limit;
        let clock = self.ports.clock.clone();
        let owner = self.options.owner.clone();
        let (store, known) = (self.ports.store.clone(), self.machine.identity(&cluster).cloned());
        async move {
            let call = Call { owner, context: None, generation: Default::default(), fence: Fence::default() };
            let connecting = async {
                let client = clusters.connect(&cluster).await?;
                let uid = client.uid(&call).await?;
                Ok((client, uid))
            };
            let asked = Asked::new(&cluster, &call, Verb::Connect);
            let connecting = calls::within(&*clock, limit, connecting);
            let (answered, connected) = asked.send(clock.clone(), connecting).await;
            let connected = match connected {
                Ok((client, uid)) => {
                    let is_known = known.is_none_or(|known| known == uid);
                    let first =
                        if is_known { identities::claim(&*store, &cluster, &uid).await } else { Ok(None) };
                    Ok((client, Identified { uid, first }))
                }
                Err(error) => Err(error),
            };
            Outcome::Answered(answered, Box::new(Outcome::Connected(cluster, epoch, connected)))
        }
        .boxed()
    }

    fn watch(&mut self, opening: Opening, call: Call) -> BoxFuture<'static, Outcome> {
        let client = match self.client(&opening.cluster, opening.epoch) {
            Ok(client) => client,
            Err(error) => return future::ready(Outcome::Watching(opening, Err(error))).boxed(),
        };
        self.flights.begun(&opening.cluster, None);
        let (clock, limit) = (self.ports.clock.clone(), self.options.request_limit);
        let selection = Selection { kind: opening.kind.clone(), owner: self.options.owner.clone() };
        async move {
            let asked = Asked::new(&opening.cluster, &call, Verb::Watch).about_kind(&opening.kind);
            let watching = calls::within(&*clock, limit, client.watch(&call, &selection));
            let (answered, watch) = asked.send(clock.clone(), watching).await;
            Outcome::Answered(answered, Box::new(Outcome::Watching(opening, watch)))
        }
        .boxed()
    }

    /// The client of a connection. Without one the machine is told: what it asks for and never hears of it waits for.
    fn client(&self, cluster: &ClusterId, epoch: Epoch) -> Result<Arc<dyn Cluster>, cluster::Error> {
        match self.clients.get(cluster) {
            Some((current, client)) if *current == epoch => Ok(client.clone()),
            _ => Err(cluster::Error::Unreachable { source: Arc::new(Disconnected) }),
        }
    }

    fn disconnect(&mut self, cluster: &ClusterId) {
        self.epochs.remove(cluster);
        self.clients.remove(cluster);
        for abort in self.aborts.remove(cluster).unwrap_or_default().into_values() {
            abort.abort();
        }
    }

    /// Tells all subscribers. One that does not keep up is dropped: its stream ends, and it can subscribe again.
    fn publish(&mut self, event: &Event) {
        self.counters.happened(&event.what);
        self.subscribers.retain_mut(|subscriber| subscriber.try_send(event.clone()).is_ok());
    }
}
