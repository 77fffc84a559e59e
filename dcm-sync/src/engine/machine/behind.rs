//! A store that is behind a cluster: the cluster holds a generation that the store does not know of. The lane halts, and
//! tells what differs, until a person has said whose state is true.

use dcm_core::app_context::Generation;
use dcm_core::plan::{Plan, Step, Work};

use super::Machine;
use super::storing::Reading;
use crate::engine::io::LaneId;

impl Machine {
    /// True when a plan is not to be followed yet: it shows that the store is behind, and it may be only this worker's
    /// knowledge of the store that is. Else what the plan shows is kept in the lane's record.
    pub(super) fn doubts(&mut self, id: &LaneId, plan: &Plan) -> bool {
        let Some(lane) = self.lane_mut(id) else { return true };
        let known = lane.record.ahead;
        if plan.ahead() == known {
            return false;
        }
        if let Some(seen) = plan.ahead().filter(|seen| Some(*seen) > known)
            && self.reads_again(id, seen)
        {
            return true;
        }
        if let Some(lane) = self.lane_mut(id) {
            lane.record.ahead = plan.ahead();
            lane.unsaved = true;
        }
        false
    }

    /// Takes note that the rights are gone that are to go from a cluster that is ahead of the store: nothing is left of that to
    /// do, nor to look at.
    pub(super) fn note_withdrawn(&mut self, id: &LaneId, plan: &Plan) {
        let is_open = |step: &Step| step.work == Work::Look || step.work.is_write();
        let Some(withdraws) = self.contexts.get(&id.context).map(|context| context.root.withdraws) else {
            return;
        };
        let is_over = plan.ahead().is_some() && !plan.steps().iter().any(is_open);
        let Some(lane) = self.lane_mut(id).filter(|lane| is_over && lane.calls.is_empty()) else { return };
        if lane.record.withdrawn < withdraws {
            lane.record.withdrawn = withdraws;
            lane.unsaved = true;
        }
    }

    /// True when a lane's record is of a later generation than what is known of its context: that is read again before
    /// anything else, as what is known may undo what others did since.
    pub(super) fn is_behind(&mut self, id: &LaneId) -> bool {
        let known = self.contexts.get(&id.context).map(|context| context.root.generation);
        let Some(lane) = self.lane_mut(id).filter(|lane| lane.reading == Reading::Known) else {
            return false;
        };
        let recorded = lane.record.generation;
        known.is_some_and(|known| recorded > known) && self.reads_again(id, recorded)
    }

    /// Reads the context once more, if it was not read since this generation was seen.
    fn reads_again(&mut self, id: &LaneId, seen: Generation) -> bool {
        if self.loading.contains_key(&id.context) {
            return true;
        }
        let Some(context) = self.contexts.get_mut(&id.context) else { return false };
        if context.doubted >= Some(seen) {
            return false;
        }
        context.doubted = Some(seen);
        self.context_changed(id.context.clone());
        true
    }

    /// Goes on with the store's state where a person has said that it is true.
    pub(super) fn overrule(&mut self, id: &LaneId) {
        let Some(context) = self.contexts.get(&id.context) else { return };
        let lane = self.shards.get_mut(&id.cluster).and_then(|shard| shard.lanes.get_mut(&id.context));
        let Some(lane) = lane.filter(|lane| lane.reading == Reading::Known) else { return };
        lane.unsaved |= lane.record.overrule(&context.root);
    }
}
