//! The engine's state machine: inputs and the time in, effects out. No I/O, no clock, no randomness of its own.
//!
//! It owns *shards* (one cluster with all its lanes, by lease), and in each *lanes* (one app context in one cluster).
//! A lane goes round: observe, plan, run the first wave, and again, until the plan is empty.

mod abandoning;
mod admission;
mod behind;
mod binding;
mod comparing;
mod contests;
mod editing;
mod gate;
mod gauges;
mod identity;
mod lane;
mod lanes;
mod listing;
mod loading;
mod naming;
mod pausing;
mod refusals;
mod replies;
mod results;
mod seeing;
mod session;
mod shard;
mod shards;
mod sharing;
mod steps;
mod storing;
mod tidying;
mod timers;
mod trials;
mod under_way;
mod unread;
mod watching;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::{Bundle, Generation};
use dcm_core::hash::ContentHash;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::clock::{Random as _, Seeded};
use dcm_core::port::proof::ProofKey;
use dcm_core::port::store::Version;
use jiff::Timestamp;

use super::comparing::Comparisons;
use super::event::{Event, What};
use super::io::{Effect, Epoch, Input, LaneId, Ticket};
use super::options::Options;
use crate::record::Root;
use admission::Queue;
use loading::Loading;
use session::Session;
use shard::Shard;
use sharing::Holdings;
use timers::{Alarm, Timers};
use under_way::UnderWay;

/// A loaded app context.
struct Context {
    root: Root,
    /// The version of the root.
    version: Version,
    bundles: BTreeMap<ContentHash, Arc<Bundle>>,
    /// The newest generation that a cluster was seen to hold before the context was read, to see whether the store knows
    /// of it.
    doubted: Option<Generation>,
    /// In which session it was read: what an earlier one read may be older than a pause.
    session: u64,
}

/// The whole engine.
pub(crate) struct Machine {
    options: Options,
    now: Timestamp,
    jitter: Seeded,
    session: Session,
    contexts: BTreeMap<ContextId, Context>,
    /// Contexts that are being read.
    loading: BTreeMap<ContextId, Loading>,
    shards: BTreeMap<ClusterId, Box<Shard>>,
    pending: UnderWay,
    /// Who waits for the limit over all clusters.
    queue: Queue,
    tickets: u64,
    events: u64,
    /// Counts what was heard of shards' records.
    shard_news: u64,
    timers: Timers,
    ready: BTreeSet<LaneId>,
    /// Lanes that clear answered requests away when no other request is under way.
    patient: BTreeSet<LaneId>,
    /// Clusters that are not reached and have abandoned lanes.
    searched: BTreeSet<ClusterId>,
    listed: bool,
    /// Proves the marks on objects; none before all is listed.
    proofs: Option<ProofKey>,
    /// Clusters whose shards are ours, or whose records we are writing.
    held: BTreeSet<ClusterId>,
    /// Whose all clusters are.
    holdings: Holdings,
    /// Clusters that go to other workers, until these have taken them; and until when what was begun to be cleared away there is
    /// still cleared away.
    leaving: BTreeMap<ClusterId, Timestamp>,
    /// Set by a stop: until when what was begun to be cleared away is still cleared away.
    stopping: Option<Timestamp>,
    stopped: bool,
    /// Objects that were told with marks without their proof.
    unproved: u64,
    /// Objects that were told of contexts that are not known, and for which there was no room.
    unkept: u64,
    /// What was compared for the input that is handled.
    compared: Comparisons,
    effects: Vec<Effect>,
}

impl Machine {
    pub(crate) fn new(options: Options, seed: u64, now: Timestamp) -> Self {
        let jitter = Seeded::new(seed);
        let session = Session::new(jitter.next());
        Self {
            options,
            now,
            jitter,
            session,
            contexts: BTreeMap::new(),
            loading: BTreeMap::new(),
            shards: BTreeMap::new(),
            pending: UnderWay::default(),
            queue: Queue::default(),
            tickets: 0,
            events: 0,
            shard_news: 0,
            timers: Timers::default(),
            ready: BTreeSet::new(),
            patient: BTreeSet::new(),
            searched: BTreeSet::new(),
            listed: false,
            proofs: None,
            held: BTreeSet::new(),
            holdings: Holdings::default(),
            leaving: BTreeMap::new(),
            stopping: None,
            stopped: false,
            unproved: 0,
            unkept: 0,
            compared: Comparisons::default(),
            effects: Vec::new(),
        }
    }

    /// When the machine wants to be woken, if nothing else happens before.
    pub(crate) fn next_wake(&self) -> Option<Timestamp> {
        self.timers.next()
    }

    /// Takes one input and gives what is to be done.
    #[cfg(test)]
    pub(crate) fn handle(&mut self, input: Input, now: Timestamp) -> Vec<Effect> {
        self.handle_compared(input, Comparisons::default(), now).0
    }

    /// Handles one input with the comparisons that were made for it. Returns the effects and these comparisons: to drop the large objects
    /// in them takes long, so the caller does that elsewhere.
    pub(super) fn handle_compared(
        &mut self,
        mut input: Input,
        made: Comparisons,
        now: Timestamp,
    ) -> (Vec<Effect>, Comparisons) {
        self.now = self.now.max(now);
        self.note_opened(&input);
        self.disclaim(&mut input);
        self.compared = made;
        self.take(input);
        let made = std::mem::take(&mut self.compared);
        while let Some(alarm) = self.timers.due(self.now) {
            self.ring(alarm);
        }
        self.share_out();
        loop {
            while let Some(lane) = self.ready.pop_first() {
                self.advance(&lane);
            }
            if !self.admit_next() {
                break;
            }
        }
        self.stop_when_idle();
        (std::mem::take(&mut self.effects), made)
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Listed(key) => self.begin(key),
            Input::ContextChanged(id) => self.context_changed(id),
            Input::ContextLoaded(id, loaded) => self.context_loaded(id, loaded),
            Input::LaneLoaded(id, ticket, loaded) => self.lane_loaded(&id, ticket, loaded),
            Input::LaneSaved(id, ticket, saved) => self.lane_saved(&id, ticket, saved),
            Input::WorkerChanged(worker, sign) => self.worker_changed(worker, sign),
            Input::SessionLoaded(worker, loaded) => self.session_loaded(worker, &loaded),
            Input::ShardChanged(cluster, record) => self.shard_changed(&cluster, record),
            Input::SessionSaved(saved) => self.session_saved(&saved),
            Input::ShardSaved(cluster, saved) => self.shard_saved(&cluster, &saved),
            Input::Connected(cluster, epoch, connected) => self.connected(&cluster, epoch, connected),
            Input::Watched(cluster, epoch, kind, told) => self.watched(&cluster, epoch, kind, told),
            Input::Replied(ticket, reply) => self.replied(ticket, reply),
            Input::Buried(context, buried) => self.buried(context, buried),
            Input::Quiet(scope) => self.quiet(&scope),
            Input::Stop => self.stop(),
            Input::Wake => {}
        }
    }

    fn ring(&mut self, alarm: Alarm) {
        match alarm {
            Alarm::Session => self.renew_session(),
            Alarm::Peer(worker) => self.check_peer(&worker),
            Alarm::Owner(worker) => self.ask_about(&worker),
            Alarm::Claim(cluster) => self.claim_again(&cluster),
            Alarm::Reread(cluster) => self.read_late_records(&cluster),
            Alarm::Connect(cluster) => self.connect(&cluster),
            Alarm::Watch(cluster, kind) => self.open_watch(&cluster, &kind),
            Alarm::Read(cluster, kind) => self.read_by_name(&cluster, &kind),
            Alarm::Edits(lane) => self.read_edits(&lane),
            Alarm::Lane(lane) => drop(self.ready.insert(lane)),
            Alarm::Trials(cluster) => self.begin_trials(&cluster),
            Alarm::SaveLane(lane) => self.save(&lane),
            Alarm::Cluster(cluster) => self.wake_starved(&cluster),
            // Whoever waits is looked at after each input.
            Alarm::Room => {}
            Alarm::Load(context) => self.load_context(context),
            Alarm::Bury(context) => self.bury(context),
            Alarm::Stop => self.give_back_all(),
            Alarm::Share => self.holdings.changed = true,
        }
    }

    fn begin(&mut self, key: ProofKey) {
        self.proofs = Some(key);
        self.listed = true;
        self.renew_session();
    }

    fn publish(&mut self, cluster: &ClusterId, context: Option<&ContextId>, what: What) {
        self.events += 1;
        self.effects.push(Effect::Publish(Event {
            sequence: self.events,
            at: self.now,
            cluster: cluster.clone(),
            context: context.cloned(),
            what,
        }));
    }

    fn next_ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }

    /// What was given last: requests that are sent from now on have later ones.
    fn last_ticket(&self) -> Ticket {
        Ticket(self.tickets)
    }

    fn is_current(&self, cluster: &ClusterId, epoch: Epoch) -> bool {
        self.shards.get(cluster).is_some_and(|shard| shard.epoch == epoch)
    }
}

#[cfg(test)]
mod tests;
