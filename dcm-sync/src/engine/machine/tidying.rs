//! Clearing away requests that are answered: after the work that people wait for, and before a cluster is given back.
//!
//! A lane that is done with answered requests left on its cluster is recorded as *untidy*. So a worker that comes after
//! a death knows that there is something to do, and one that finds the lane tidy has nothing to look for.

use std::time::Duration;

use dcm_core::name::ClusterId;
use jiff::Timestamp;

use super::lane::Lane;
use super::shard::Shard;
use super::timers::Alarm;
use super::{Context, Machine};
use crate::engine::io::LaneId;

/// After so many failures no worker takes, or keeps, a cluster just for this: one that has it anyway tries on.
pub(super) const TRIES_MAX: u32 = 3;

/// How long a cluster that is given back waits for it: some requests, and the budget for them. What is left then is done by the
/// next worker.
pub(super) const LEAVE_LIMIT: Duration = Duration::from_secs(3);

/// How long answered requests stay at most while other work goes before.
const PATIENCE: Duration = Duration::from_secs(5);

impl Machine {
    pub(super) fn stop(&mut self) {
        let until = *self.stopping.get_or_insert(self.now + LEAVE_LIMIT);
        self.timers.set(until, Alarm::Stop);
        self.give_back_all();
        self.tell_stopping();
    }

    /// Until when what was begun is cleared away on a cluster that this worker gives back; none for one that it keeps.
    pub(super) fn leaves_by(&self, cluster: &ClusterId) -> Option<Timestamp> {
        self.stopping.or_else(|| self.leaving.get(cluster).copied())
    }

    /// True when a lane is done and still tidied up, whether its cluster is given back or not.
    pub(super) fn tidies(&self, cluster: &ClusterId, context: &Context, lane: &Lane) -> bool {
        let in_time = self.leaves_by(cluster).is_none_or(|until| self.now < until);
        let done = lane.record.is_at(context.wanted(cluster)) && !context.root.paused;
        in_time && done && lane.record.untidy && lane.told_errors().next().is_none()
    }

    /// True when a lane leaves its answered requests for now, since others wait for this worker's requests, and nobody
    /// waits for these. It is woken when nothing else is under way, or after a bound.
    pub(super) fn lets_others_go_before(&mut self, id: &LaneId) -> bool {
        let Some(until) = self.lane_mut(id).map(|lane| lane.record.since + PATIENCE) else { return false };
        if self.leaves_by(&id.cluster).is_some() || self.pending.is_only_tidying() || self.now >= until {
            return false;
        }
        self.patient.insert(id.clone());
        self.timers.set(until, Alarm::Lane(id.clone()));
        true
    }

    /// True while some lane of a cluster that is reached is being tidied up.
    pub(super) fn is_tidying_up(&self, cluster: &ClusterId, shard: &Shard) -> bool {
        let tidies =
            |id, lane| self.contexts.get(id).is_some_and(|context| self.tidies(cluster, context, lane));
        shard.is_up() && shard.lanes.iter().any(|(id, lane)| tidies(id, lane))
    }
}
