//! What keeps a lane from being planned.

use std::sync::Arc;

use dcm_core::app_context::Bundle;
use dcm_core::status::{Cause, Reason};

use super::lane::Lane;
use super::pausing::stopped_cluster;
use super::shard::{Known, Link, Shard};
use super::storing::{Reading, Writing};
use super::{Context, Machine};
use crate::engine::Safeguard;
use crate::engine::io::LaneId;

/// What keeps a lane from being planned.
pub(super) enum Gate {
    /// Nothing: go on.
    Open,
    /// Something that will wake the lane again.
    Shut,
    /// Something that the status has to tell.
    Hindered(Cause),
}

impl Machine {
    pub(super) fn gate(&self, id: &LaneId) -> Gate {
        let Some(shard) = self.shards.get(&id.cluster).filter(|shard| self.owns(shard)) else {
            return Gate::Shut;
        };
        let (Some(lane), Some(context)) = (shard.lanes.get(&id.context), self.contexts.get(&id.context))
        else {
            return Gate::Shut;
        };
        if shard.giving_back || !self.is_settled(lane) || self.stands_still(id, lane, context) {
            return Gate::Shut;
        }
        let wanted = context.wanted(&id.cluster);
        if wanted.is_none() && shard.is_clear_of(&id.context) {
            return Gate::Open;
        }
        let is_seen = lane.record.is_seen_at(wanted, &context.root);
        if shard.is_paused() && self.options.keeps(Safeguard::PauseKept) {
            return if is_seen { Gate::Shut } else { Gate::Hindered(stopped_cluster()) };
        }
        if let Some(gate) = shut_by_link(shard, is_seen) {
            return gate;
        }
        if lane.retry_at().is_some_and(|at| at > self.now) || lane.is_busy() {
            return Gate::Shut;
        }
        shut_by_watches(shard, lane, wanted.and_then(|wanted| context.bundles.get(&wanted)))
    }

    /// True when the record is as it is known, and stored.
    fn is_settled(&self, lane: &Lane) -> bool {
        let is_stored = match &lane.writing {
            Writing::Idle => true,
            Writing::UnderWay(_) => false,
            Writing::Failed => !self.options.keeps(Safeguard::StoredFirst),
        };
        lane.reading == Reading::Known && is_stored
    }

    /// True when nothing may begin: the context is paused, the worker gives the cluster back, the context is not known to be what it
    /// was, or what is known of the lane can't be stored.
    fn stands_still(&self, id: &LaneId, lane: &Lane, context: &Context) -> bool {
        let leaves = self.leaves_by(&id.cluster).is_some() && !self.tidies(&id.cluster, context, lane);
        let is_paused = context.root.paused && self.options.keeps(Safeguard::PauseKept);
        leaves || is_paused || lane.refused || context.session != self.session.number
    }
}

/// What the way to the cluster says; none while it is open.
fn shut_by_link(shard: &Shard, is_seen: bool) -> Option<Gate> {
    match &shard.link {
        Link::Up => None,
        // A lane that is done stays done while its cluster is away, until the next attempt. On another cluster it is not done.
        Link::Broken(cause) if !is_seen || is_of_another(cause) => Some(Gate::Hindered((**cause).clone())),
        Link::Down | Link::Connecting(_) | Link::Broken(_) => Some(Gate::Shut),
    }
}

/// True where the name does not stand for a cluster of its own: then nothing is as it was recorded.
fn is_of_another(cause: &Cause) -> bool {
    matches!(cause.reason, Reason::ClusterChanged | Reason::SameCluster)
}

/// What is known of the kinds that have to be known for what is wanted.
fn shut_by_watches(shard: &Shard, lane: &Lane, wanted: Option<&Arc<Bundle>>) -> Gate {
    let mut gate = Gate::Open;
    lane.kinds(wanted.map(|bundle| &**bundle), &mut |kind| {
        let watch = shard.watches.get(kind);
        match watch.map_or(&Known::Nothing, |watch| &watch.known) {
            Known::Listed | Known::NoKind => {}
            Known::ByName(_) if wanted.is_some() && lane.has_recorded(kind) => {}
            Known::Hidden(cause) | Known::ByName(cause) => gate = Gate::Hindered((**cause).clone()),
            Known::Nothing if matches!(gate, Gate::Open) => gate = Gate::Shut,
            Known::Nothing => {}
        }
    });
    gate
}
