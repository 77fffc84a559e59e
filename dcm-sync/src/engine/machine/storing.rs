//! A lane's record on its way to the store and from it.

use std::collections::BTreeSet;
use std::sync::Arc;

use dcm_core::port::store::{self, Version};
use dcm_core::status::LaneState;

use super::Machine;
use super::lane::Lane;
use super::timers::Alarm;
use crate::engine::io::{Effect, LaneId, SaveLane};
use crate::record;

/// How far a lane's stored record is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// As it was read or written last.
    Known,
    /// Another worker may have written it: it is read again before anything else.
    Stale,
    /// It is being read.
    UnderWay,
    /// It is being read, and is read again after that: another worker may have written it meanwhile.
    Outdated,
}

/// How far the next record of a lane is on its way to the store.
#[derive(Debug, Default)]
pub(super) enum Writing {
    /// Nothing is.
    #[default]
    Idle,
    UnderWay(Saving),
    /// It could not be stored: nothing is done before it is.
    Failed,
}

/// A save that is under way.
#[derive(Debug)]
pub(super) struct Saving {
    /// How many results go with it.
    pub outcomes: usize,
    /// The namespaces whose claims it drops.
    pub given_up: BTreeSet<Arc<str>>,
}

impl Reading {
    /// Another worker may write the record from now on.
    pub(super) fn outdate(&mut self) {
        *self = match self {
            Self::Known | Self::Stale => Self::Stale,
            Self::UnderWay | Self::Outdated => Self::Outdated,
        };
    }

    /// True when nobody reads the record yet: now somebody does.
    fn begin(&mut self) -> bool {
        let is_idle = matches!(self, Self::Known | Self::Stale);
        if is_idle {
            *self = Self::UnderWay;
        }
        is_idle
    }
}

impl Writing {
    pub(super) fn is_under_way(&self) -> bool {
        matches!(self, Self::UnderWay(_))
    }
}

impl Machine {
    pub(super) fn reload_lane(&mut self, id: &LaneId) {
        let Some(lane) = self.lane_mut(id) else { return };
        if lane.reading.begin() {
            self.effects.push(Effect::LoadLane(id.clone()));
        }
    }

    pub(super) fn lane_loaded(
        &mut self,
        id: &LaneId,
        loaded: Result<Option<(record::Lane, Version)>, store::Error>,
    ) {
        let now = self.now;
        let inherited = self.shards.get(&id.cluster).is_some_and(|shard| shard.inherited);
        let until = now + self.options.late_request_limit;
        let Some(lane) = self.lane_mut(id) else { return };
        let is_outdated = lane.reading == Reading::Outdated;
        lane.reading = Reading::Stale;
        match loaded {
            Ok(stored) => {
                let (record, version) = match stored {
                    Some((record, version)) => (record, Some(version)),
                    None => (record::Lane::untouched(now), None),
                };
                // What is under way goes on; sent again, it would be done twice.
                let calls = std::mem::take(&mut lane.calls);
                *lane = Lane { calls, ..Lane::new(record, version) };
                if is_outdated {
                    lane.reading = Reading::Stale;
                }
                if inherited {
                    lane.inherit(until);
                }
                self.forget_results(id);
                // Whoever cleared it may have died before it dropped the records of a forgotten context.
                self.bury_soon(&id.context);
                self.open_watches(&id.cluster, Some(&id.context));
                self.ready.insert(id.clone());
            }
            Err(error) => {
                tracing::warn!(context = %id.context, cluster = %id.cluster,
                    error = &error as &dyn std::error::Error, "can't read a lane");
                self.timers.set(now + self.options.retry_min, Alarm::Lane(id.clone()));
            }
        }
    }

    /// Sends a lane's record to the store.
    pub(super) fn save(&mut self, id: &LaneId) {
        let bundle = self.contexts.get(&id.context).and_then(|context| context.bundle(&id.cluster));
        let fence = self.shards.get(&id.cluster).map(|shard| Self::fence(shard)).unwrap_or_default();
        let owned = self.shards.get(&id.cluster).is_some_and(|shard| self.owns(shard));
        let may_save =
            |lane: &&mut Lane| owned && lane.reading == Reading::Known && !lane.writing.is_under_way();
        if self.lane_mut(id).filter(may_save).is_none() {
            return;
        }
        if !self.session_is_valid() {
            // Somebody else may have taken the cluster: nothing is written before the session is known to go on.
            self.lane_mut(id).into_iter().for_each(|lane| lane.writing = Writing::Failed);
            return self.timers.set(self.now + self.options.retry_min, Alarm::SaveLane(id.clone()));
        }
        self.forget_outdated(id);
        let Some(lane) = self.lane_mut(id) else { return };
        lane.keep_wanted(bundle.as_deref());
        let given_up = std::mem::take(&mut lane.given_up);
        lane.writing =
            Writing::UnderWay(Saving { outcomes: lane.outcomes.len(), given_up: given_up.clone() });
        lane.unsaved = false;
        (lane.renewed, lane.claims_done, lane.claims_gone) = (false, false, false);
        lane.record.fence = fence;
        let save = SaveLane {
            id: id.clone(),
            lane: lane.record.clone(),
            version: lane.version,
            outcomes: lane.outcomes.clone(),
            given_up,
        };
        self.effects.push(Effect::SaveLane(Box::new(save)));
    }

    /// Forgets the answered requests of a finished lane that are not desired any more: their results go after the next
    /// save. Until then what was issued before stays, beside what is being asked for.
    fn forget_outdated(&mut self, id: &LaneId) {
        let hash = self.lane_mut(id).and_then(|lane| lane.record.bundle);
        let bundle = hash.and_then(|hash| self.contexts.get(&id.context)?.bundles.get(&hash)).cloned();
        // Another bundle has taken the place of this one by now: then that one tells.
        if hash.is_some() && bundle.is_none() {
            return;
        }
        self.lane_mut(id).into_iter().for_each(|lane| lane.forget_outdated(bundle.as_deref()));
    }

    pub(super) fn lane_saved(&mut self, id: &LaneId, saved: Result<Version, store::Error>) {
        let now = self.now;
        let retry = now + self.options.retry_min;
        let Some(lane) = self.lane_mut(id) else { return };
        let Writing::UnderWay(saving) = std::mem::take(&mut lane.writing) else { return };
        match saved {
            Ok(version) => {
                lane.version = Some(version);
                lane.record.dropping.clear();
                let is_removed = lane.record.state == LaneState::Removed;
                // What was issued meanwhile is still to be stored.
                lane.outcomes = lane.outcomes.split_off(saving.outcomes);
                self.ready.insert(id.clone());
                if is_removed {
                    self.bury_soon(&id.context);
                }
            }
            Err(store::Error::Conflict { .. }) => {
                lane.reading.outdate();
                self.reload_lane(id);
            }
            Err(error) => {
                tracing::warn!(context = %id.context, cluster = %id.cluster,
                    error = &error as &dyn std::error::Error, "can't store a lane");
                lane.unsaved = true;
                lane.writing = Writing::Failed;
                lane.given_up = saving.given_up;
                self.timers.set(retry, Alarm::SaveLane(id.clone()));
            }
        }
    }
}
