//! Removals that don't end by themselves: after its deadline a lane is *abandoned*, and retried for as long as it takes.
//!
//! An abandoned lane is worked on as any other that is to be removed. What differs: it counts as finished, its record
//! is not written with each try, and its cluster is looked for at short intervals, as nobody is there who would ask.

use std::time::Duration;

use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::clock::Random as _;
use dcm_core::port::synchronizer::Error;
use dcm_core::status::{Cause, LaneState, Reason};
use jiff::Timestamp;

use super::Machine;
use super::shard::{Link, Shard};
use super::storing::Reading;
use super::timers::Alarm;
use crate::engine::Safeguard;
use crate::engine::backoff;
use crate::engine::event::What;
use crate::engine::io::{Effect, LaneId};

/// Longest wait from the beginning of a look for a cluster with abandoned lanes to that of the next: with what a look takes,
/// the first request comes within five seconds of its return. A look that hangs is waited for.
const SEARCH_WAIT: Duration = Duration::from_secs(4);

/// Looks in a second for all clusters with abandoned lanes, at most: each is a connection with its TLS, so more of them
/// would leave a core for nothing else. Where there are so many such clusters, each is looked for less often.
const SEARCHES_PER_SECOND: u32 = 200;

/// What could not be buried is tried again as after so many failures in a row: each try takes as long as all workers need to
/// read the root.
const BURIAL_FAILURES: u32 = 6;

/// How long after the last abandoned lane was cleared the records of a forgotten context are looked through: all lanes
/// that are cleared together need only one look.
const BURIAL_WAIT: Duration = Duration::from_secs(1);

impl Machine {
    /// Begins the deadline of a lane that is to be removed, and abandons it when that is over, whatever it waits for.
    pub(super) fn watch_deadline(&mut self, id: &LaneId) {
        match self.begin_deadline(id) {
            None => {}
            Some(at) if at > self.now => self.timers.set(at, Alarm::Lane(id.clone())),
            Some(_) => self.abandon(id),
        }
    }

    /// Begins the removal of a lane, if that has not begun, and gives until when it is waited for; none when it is not to
    /// be removed, or not by us, or abandoned already.
    fn begin_deadline(&mut self, id: &LaneId) -> Option<Timestamp> {
        let shard = self.shards.get(&id.cluster).filter(|shard| self.owns(shard))?;
        let lane = shard.lanes.get(&id.context)?;
        let root = &self.contexts.get(&id.context)?.root;
        let is_ours_to_end = lane.reading == Reading::Known && !lane.writing.is_under_way() && !root.paused;
        let is_over = lane.record.is_at(None) || lane.record.is_abandoned(root);
        if !is_ours_to_end || is_over || root.wanted(&id.cluster).is_some() {
            return None;
        }
        let deadline = root.removal().deadline();
        // Who comes late, to a removal that nobody worked on, tries first.
        let tried = shard.acquired + self.options.request_limit.min(deadline);
        if lane.record.state != LaneState::Removing {
            self.begin_work(id, None);
        }
        let now = self.now;
        let record = &mut self.lane_mut(id)?.record;
        // Another worker may have written it, by a clock that is ahead of ours.
        record.since = record.since.min(now);
        Some((record.since + deadline).max(tried))
    }

    fn abandon(&mut self, id: &LaneId) {
        let now = self.now;
        let Some(context) = self.contexts.get(&id.context) else { return };
        let (generation, attempt) = (context.root.generation, context.root.attempt);
        let remembers = self.options.keeps(Safeguard::TombstoneKept);
        let state = if remembers { LaneState::Abandoned } else { LaneState::Removed };
        let Some(lane) = self.lane_mut(id) else { return };
        let record = &mut lane.record;
        let unknown = || vec![unanswered()];
        let causes = if record.causes.is_empty() { unknown() } else { std::mem::take(&mut record.causes) };
        record.causes = causes.into_iter().map(|cause| Cause { next_try: None, ..cause }).collect();
        (record.state, record.since) = (state, now);
        (record.generation, record.attempt) = (generation, attempt);
        lane.unsaved = true;
        self.publish(&id.cluster, Some(&id.context), What::Lane(state));
        self.search_sooner(&id.cluster);
        self.save(id);
    }

    /// A cluster that is waited for longer is looked for earlier.
    fn search_sooner(&mut self, cluster: &ClusterId) {
        if self.shards.get(cluster).is_some_and(|shard| shard.is_broken()) {
            self.searched.insert(cluster.clone());
            self.timers.set(self.now + search_wait(self.searched.len()), Alarm::Connect(cluster.clone()));
        }
    }

    /// When a cluster that was not reached, or that broke off, is tried again.
    pub(super) fn next_connect(&mut self, cluster: &ClusterId) -> Timestamp {
        let (now, min, random) = (self.now, self.options.retry_min, self.jitter.next());
        let is_searched = self.shards.get(cluster).is_some_and(|shard| shard.has_tombstones());
        let mut max = self.options.retry_max;
        if is_searched {
            self.searched.insert(cluster.clone());
            max = max.min(search_wait(self.searched.len()));
        }
        let shard = self.shard_mut(cluster);
        let wait = shard.row.breaks(now, min, max, random);
        match shard.link {
            // However long the look took.
            Link::Connecting(since) if is_searched => now.max(since + wait),
            _ => now + wait,
        }
    }

    /// A lane of a forgotten context was cleared, or such a context was found: its records may go.
    pub(super) fn bury_soon(&mut self, context: &ContextId) {
        if self.contexts.get(context).is_some_and(|context| context.root.forgotten) {
            self.timers.set(self.now + BURIAL_WAIT, Alarm::Bury(context.clone()));
        }
    }

    pub(super) fn bury(&mut self, context: ContextId) {
        self.effects.push(Effect::Bury(context));
    }

    /// The records of a forgotten context went, or some stay because their clusters are still abandoned.
    pub(super) fn buried(&mut self, context: ContextId, buried: Result<(), Error>) {
        if let Err(error) = buried {
            // Workers that are at it together keep each other from it: they come back one after the other.
            if !matches!(error, Error::Contended { .. }) {
                tracing::warn!(%context, error = &error as &dyn std::error::Error, "can't drop a forgotten context");
            }
            let (random, min, max) = (self.jitter.next(), self.options.retry_min, self.options.retry_max);
            let wait = backoff::delay(BURIAL_FAILURES, min, max, random);
            self.timers.set(self.now + wait, Alarm::Bury(context));
        }
    }

    /// Work on a context goes on after a pause: its removals have the whole of their deadlines again.
    pub(super) fn restart_deadlines(&mut self, context: &ContextId) {
        let now = self.now;
        let lanes = self.shards.values_mut().filter_map(|shard| shard.lanes.get_mut(context));
        for lane in lanes.filter(|lane| lane.record.state == LaneState::Removing) {
            lane.record.since = now;
        }
    }
}

impl Shard {
    /// True when some lane is abandoned.
    fn has_tombstones(&self) -> bool {
        self.lanes.values().any(|lane| lane.record.state == LaneState::Abandoned)
    }
}

/// How long a cluster waits for its turn among so many that are looked for.
fn search_wait(clusters: usize) -> Duration {
    let turn = Duration::from_secs(1) / SEARCHES_PER_SECOND;
    SEARCH_WAIT.max(turn.saturating_mul(u32::try_from(clusters).unwrap_or(u32::MAX)))
}

fn unanswered() -> Cause {
    Cause::new(Reason::Waiting, "the cluster was not done by the deadline")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_clusters_are_looked_for_every_four_seconds_and_many_at_a_bounded_rate() {
        let waits = [1, 100, 800, 2000, 10_000].map(|clusters| search_wait(clusters).as_secs());
        assert_eq!(waits, [4, 4, 4, 10, 50]);
    }
}
