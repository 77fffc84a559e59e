//! The limit over all clusters of requests under way, and whose turn it is when there is room again.
//!
//! Whatever is sent to clusters counts: what lanes ask, and what connections begin with, which after a start is most of
//! it. Where more is to be sent than there is room for, the cluster with the least under way is the next one, and none is
//! that owes an answer since it was served last. So those that hang keep no more room than their share of it.

use std::collections::BTreeMap;
use std::time::Duration;

use dcm_core::manifest::GroupVersionKind;
use dcm_core::name::{ClusterId, OwnerId};
use dcm_core::port::cluster::Call;
use jiff::Timestamp;

use super::Machine;
use super::shard::Shard;
use super::timers::Alarm;
use crate::engine::io::{Effect, Input, LaneId};

/// A lane that waited gets its turn when there is room for this part of the limit: more than it is about to send. One that
/// gets less than it asks for has to be planned once more, which costs as much as some requests.
const TURN_SHARE: usize = 64;

/// How long a cluster goes before those that came later: what is begun is finished first, and nobody is passed over for ever.
const SENIORITY: Duration = Duration::from_secs(10);

/// All clusters that wait for room.
#[derive(Default)]
pub(super) struct Queue {
    places: BTreeMap<(usize, u64), ClusterId>,
    /// Counts who came.
    came: u64,
    /// The cluster whose lanes' turn it is.
    turn: Option<ClusterId>,
}

/// A cluster's place in the queue.
#[derive(Default)]
pub(super) struct Place {
    /// How much was under way when it was given.
    load: usize,
    /// By when it came; none: it has not come yet.
    came: Option<(u64, Timestamp)>,
    is_waiting: bool,
    /// It has answered since it was served last.
    has_answered: bool,
}

impl Queue {
    fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Lets a cluster wait, behind those that have as much under way and came before.
    fn join(&mut self, cluster: &ClusterId, shard: &mut Shard, now: Timestamp) {
        if shard.place.is_waiting {
            return;
        }
        if shard.place.came.is_none_or(|(_, at)| now >= at + SENIORITY) {
            self.came += 1;
            shard.place.came = Some((self.came, now));
        }
        shard.place.is_waiting = true;
        self.line_up(cluster, shard);
    }

    /// Gives a cluster that waits its place in the line, but not while it owes an answer since it was served last: it may
    /// hang, and would take what is left for those that don't.
    fn line_up(&mut self, cluster: &ClusterId, shard: &mut Shard) {
        self.step_out(shard);
        let may_be_served = shard.load() == 0 || shard.place.has_answered;
        if let Some((came, _)) = shard.place.came.filter(|_| shard.place.is_waiting && may_be_served) {
            shard.place.load = shard.load();
            self.places.insert((shard.place.load, came), cluster.clone());
        }
    }

    fn step_out(&mut self, shard: &Shard) {
        shard.place.came.map(|(came, _)| self.places.remove(&(shard.place.load, came)));
    }

    /// A cluster has answered: that changes its place, should it wait.
    pub(super) fn answered(&mut self, cluster: &ClusterId, shard: &mut Shard) {
        shard.place.has_answered = true;
        if shard.place.is_waiting {
            self.line_up(cluster, shard);
        }
    }

    /// Nothing waits any more for room to a cluster.
    fn leave(&mut self, shard: &mut Shard) {
        self.step_out(shard);
        shard.place.is_waiting = false;
        shard.place.has_answered = false;
    }
}

impl Shard {
    /// How many requests are under way to it.
    fn load(&self) -> usize {
        self.requests + self.openings
    }

    /// Takes the next of what waits for room to be opened: the connection, or a watch on it.
    fn take_waiting(&mut self) -> Option<Option<GroupVersionKind>> {
        if !self.waits() {
            return None;
        }
        if std::mem::replace(&mut self.connection_waits, false) {
            return Some(None);
        }
        let (kind, watch) = self.watches.iter_mut().find(|(_, watch)| watch.waits)?;
        watch.waits = false;
        Some(Some(kind.clone()))
    }

    /// True when something waits for room that may be opened when there is some.
    fn waits(&self) -> bool {
        let waits = self.connection_waits || self.watches.values().any(|watch| watch.waits);
        waits && !self.is_paused()
    }

    /// What opens its connection, or a watch on it.
    fn opening(&mut self, cluster: ClusterId, owner: OwnerId, kind: Option<GroupVersionKind>) -> Effect {
        self.openings += 1;
        let Some(kind) = kind else { return Effect::Connect(cluster, self.epoch) };
        let fence = Machine::fence(self);
        let call = Call { owner, context: None, generation: Default::default(), fence };
        Effect::Watch(cluster, self.epoch, kind, call)
    }
}

impl Machine {
    /// For how many more requests there is room.
    fn room(&mut self) -> usize {
        self.options.requests_max.saturating_sub(self.pending.count_young(self.now))
    }

    /// True when a lane of this cluster may send something now.
    pub(super) fn has_room_for(&mut self, cluster: &ClusterId) -> bool {
        (self.queue.is_empty() || self.queue.turn.as_ref() == Some(cluster)) && self.room() > 0
    }

    /// Lets a cluster wait for its turn.
    pub(super) fn wait_for_turn(&mut self, cluster: &ClusterId) {
        if let Some(shard) = self.shards.get_mut(cluster) {
            self.queue.join(cluster, shard, self.now);
        }
    }

    /// True when a lane is not to be planned yet: others wait for room before it.
    pub(super) fn lets_others_plan_before(&mut self, id: &LaneId) -> bool {
        let waits = !self.has_room_for(&id.cluster);
        if waits {
            self.wait_for_turn(&id.cluster);
            self.queue(id, true);
        }
        waits
    }

    /// Opens a shard's connection, or a watch on it, as soon as there is room.
    pub(super) fn open(&mut self, cluster: &ClusterId, kind: Option<&GroupVersionKind>) {
        let is_free = self.queue.is_empty() && self.room() > 0;
        let Some(shard) = self.shards.get_mut(cluster) else { return };
        if is_free {
            let effect = shard.opening(cluster.clone(), self.options.owner.clone(), kind.cloned());
            return self.send_opening(effect);
        }
        match kind.map(|kind| shard.watches.get_mut(kind)) {
            None => shard.connection_waits = true,
            Some(watch) => watch.into_iter().for_each(|watch| watch.waits = true),
        }
        self.queue.join(cluster, shard, self.now);
    }

    fn send_opening(&mut self, effect: Effect) {
        let ticket = self.next_ticket();
        let is_in_place_of_another = self.pending.open(ticket, &effect, self.now);
        if is_in_place_of_another
            && let Effect::Connect(cluster, _) | Effect::Watch(cluster, ..) = &effect
            && let Some(shard) = self.shards.get_mut(cluster)
        {
            shard.openings = shard.openings.saturating_sub(1);
        }
        self.effects.push(effect);
    }

    /// Notes that something was opened, or can't be.
    pub(super) fn note_opened(&mut self, input: &Input) {
        let (cluster, epoch, kind) = match input {
            Input::Connected(cluster, epoch, _) => (cluster, *epoch, None),
            Input::Watched(cluster, epoch, kind, _) => (cluster, *epoch, Some(kind.clone())),
            _ => return,
        };
        let is_new = self.pending.opened(&(cluster.clone(), epoch, kind));
        if let Some(shard) = self.shards.get_mut(cluster).filter(|_| is_new) {
            shard.openings = shard.openings.saturating_sub(1);
            self.queue.answered(cluster, shard);
        }
    }

    /// What waited for a connection that is given up waits no more.
    pub(super) fn leave_queue(&mut self, cluster: &ClusterId) {
        self.pending.close(cluster);
        self.shards.get_mut(cluster).into_iter().for_each(|shard| self.queue.leave(shard));
    }

    /// What waited for room when a cluster was paused waits again.
    pub(super) fn wait_again(&mut self, cluster: &ClusterId) {
        if self.shards.get(cluster).is_some_and(|shard| shard.waits()) {
            self.wait_for_turn(cluster);
        }
    }

    /// Gives the next cluster its turn. False: there is no room for it, or none waits.
    pub(super) fn admit_next(&mut self) -> bool {
        self.queue.turn = None;
        let Some(cluster) = self.queue.places.first_key_value().map(|(_, cluster)| cluster.clone()) else {
            return false;
        };
        let (room, turn_min) = (self.room(), (self.options.requests_max / TURN_SHARE).max(1));
        let Some(shard) = self.shards.get_mut(&cluster) else { return false };
        if room < if shard.waits() { 1 } else { turn_min } {
            let next = self.pending.next_to_age();
            next.into_iter().for_each(|at| self.timers.set(at, Alarm::Room));
            return false;
        }
        if let Some(kind) = shard.take_waiting() {
            let effect = shard.opening(cluster.clone(), self.options.owner.clone(), kind);
            shard.place.has_answered = false;
            self.queue.line_up(&cluster, shard);
            self.send_opening(effect);
        } else {
            self.queue.leave(shard);
            self.wake_starved(&cluster);
            self.queue.turn = Some(cluster);
        }
        true
    }
}
