//! What can be told of all lanes at one moment.

use std::time::Duration;

use dcm_core::status::LaneState;
use jiff::Timestamp;

use super::Machine;
use super::lane::Lane;
use super::shard::Link;
use crate::engine::metrics::Metrics;

impl Machine {
    /// Looks at the lanes of all clusters that this worker holds, once.
    pub(crate) fn gauges(&self, now: Timestamp) -> Metrics {
        let mut metrics =
            Metrics { objects_unproved: self.unproved, objects_unkept: self.unkept, ..Metrics::default() };
        let mut oldest: Option<Timestamp> = None;
        let held = self.shards.values().filter(|shard| self.owns(shard));
        for shard in held {
            metrics.clusters_held += 1;
            metrics.clusters_connected += u64::from(matches!(shard.link, Link::Up));
            metrics.requests_under_way += u64::try_from(shard.requests).unwrap_or(u64::MAX);
            for (context, lane) in &shard.lanes {
                *metrics.lanes.entry(lane.record.state.as_str()).or_default() += 1;
                metrics.lanes_queued += u64::from(lane.queued);
                metrics.lanes_drifted += u64::from(is_drifted(lane));
                let is_paused = self.contexts.get(context).is_some_and(|context| context.root.paused);
                if is_waiting(lane) && !is_paused {
                    oldest = Some(oldest.map_or(lane.record.since, |oldest| oldest.min(lane.record.since)));
                }
            }
        }
        let age = |since| Duration::try_from(now.duration_since(since)).unwrap_or_default();
        metrics.oldest_waiting = oldest.map(age);
        metrics
    }
}

fn is_drifted(lane: &Lane) -> bool {
    lane.record.causes.iter().any(|cause| cause.reason.is_drift())
}

fn is_waiting(lane: &Lane) -> bool {
    matches!(lane.record.state, LaneState::Pending | LaneState::Working | LaneState::Removing)
}
