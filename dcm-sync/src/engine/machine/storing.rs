//! A lane's record on its way to the store and from it.
//!
//! Each reading and writing has a ticket: a context may be forgotten and made anew before an answer about its earlier lane
//! is there.

use std::collections::BTreeSet;
use std::sync::Arc;

use dcm_core::port::store::{self, Version};
use dcm_core::status::{Cause, LaneState, Reason};

use super::Machine;
use super::lane::Lane;
use super::timers::Alarm;
use crate::engine::io::{Effect, LaneId, SaveLane, SavedLane, Ticket};
use crate::record;

/// How far a lane's stored record is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// As it was read or written last.
    Known,
    /// Another worker may have written it: it is read again before anything else.
    Stale,
    /// It is being read.
    UnderWay(Ticket),
    /// It is being read, and is read again after that: another worker may have written it meanwhile.
    Outdated(Ticket),
}

/// How far the next record of a lane is on its way to the store.
#[derive(Debug, Default)]
pub(super) enum Writing {
    /// Nothing is.
    #[default]
    Idle,
    /// Boxed, because a save is rarely under way.
    UnderWay(Box<Saving>),
    /// It could not be stored: nothing is done before it is.
    Failed,
}

/// A save that is under way.
#[derive(Debug)]
pub(super) struct Saving {
    ticket: Ticket,
    /// How many results go with it.
    outcomes: usize,
    /// The namespaces whose claims it drops.
    given_up: BTreeSet<Arc<str>>,
}

impl Reading {
    /// Another worker may write the record from now on.
    pub(super) fn outdate(&mut self) {
        *self = match self {
            Self::Known | Self::Stale => Self::Stale,
            Self::UnderWay(ticket) | Self::Outdated(ticket) => Self::Outdated(*ticket),
        };
    }

    fn ticket(self) -> Option<Ticket> {
        match self {
            Self::Known | Self::Stale => None,
            Self::UnderWay(ticket) | Self::Outdated(ticket) => Some(ticket),
        }
    }
}

impl Writing {
    pub(super) fn is_under_way(&self) -> bool {
        matches!(self, Self::UnderWay(_))
    }

    /// The save with this ticket is over; none when that is another lane's by now.
    fn end(&mut self, ticket: Ticket) -> Option<Box<Saving>> {
        match std::mem::take(self) {
            Self::UnderWay(saving) if saving.ticket == ticket => Some(saving),
            other => {
                *self = other;
                None
            }
        }
    }
}

impl Machine {
    pub(super) fn reload_lane(&mut self, id: &LaneId) {
        let ticket = self.next_ticket();
        if let Some(lane) = self.lane_mut(id).filter(|lane| lane.reading.ticket().is_none()) {
            lane.reading = Reading::UnderWay(ticket);
            self.effects.push(Effect::LoadLane(id.clone(), ticket));
        }
    }

    pub(super) fn lane_loaded(
        &mut self,
        id: &LaneId,
        ticket: Ticket,
        loaded: Result<Option<(record::Lane, Version)>, store::Error>,
    ) {
        let now = self.now;
        let limit = self.options.late_request_limit;
        let inherited = self.shards.get(&id.cluster).filter(|shard| shard.is_inherited());
        // By then all has come that another worker sent, however often the record is read.
        let inherited_until = inherited.map(|shard| shard.late_until(limit));
        let is_awaited = |lane: &&mut Lane| lane.reading.ticket() == Some(ticket);
        let Some(lane) = self.lane_mut(id).filter(is_awaited) else { return };
        let is_outdated = lane.reading == Reading::Outdated(ticket);
        lane.reading = Reading::Stale;
        match loaded {
            Ok(stored) => {
                let (record, version) = match stored {
                    Some((record, version)) => (record, Some(version)),
                    None => (record::Lane::untouched(now), None),
                };
                lane.reread(record, version);
                if is_outdated {
                    lane.reading = Reading::Stale;
                }
                if let Some(until) = inherited_until {
                    lane.inherit(now, until);
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
        let shard = self.shards.get(&id.cluster).filter(|shard| self.owns(shard));
        let (owned, giving_back) = (shard.is_some(), shard.is_some_and(|shard| shard.giving_back));
        let may_save =
            |lane: &&mut Lane| owned && lane.reading == Reading::Known && !lane.writing.is_under_way();
        if self.lane_mut(id).filter(may_save).is_none() {
            return;
        }
        if giving_back || !self.session_is_valid() {
            // Somebody else may have taken the cluster: nothing is written before it is known to be ours.
            self.lane_mut(id).into_iter().for_each(|lane| lane.writing = Writing::Failed);
            return self.timers.set(self.now + self.options.retry_min, Alarm::SaveLane(id.clone()));
        }
        self.forget_outdated(id);
        self.note_unanswered(id);
        let ticket = self.next_ticket();
        let Some(lane) = self.lane_mut(id) else { return };
        lane.keep_wanted(bundle.as_deref());
        let given_up = std::mem::take(&mut lane.given_up);
        let saving = Saving { ticket, outcomes: lane.outcomes.len(), given_up: given_up.clone() };
        lane.writing = Writing::UnderWay(Box::new(saving));
        lane.unsaved = false;
        (lane.renewed, lane.claims_done) = (false, false);
        (lane.claims_gone, lane.claims_answered) = (false, false);
        lane.record.fence = fence;
        let save = SaveLane {
            ticket,
            id: id.clone(),
            lane: lane.record.clone(),
            version: lane.version,
            outcomes: lane.outcomes.clone(),
            given_up,
        };
        self.effects.push(Effect::SaveLane(Box::new(save)));
    }

    /// Notes of which earlier generation requests may still take effect: whoever takes the lane over goes by it.
    fn note_unanswered(&mut self, id: &LaneId) {
        let now = self.now;
        let lane = self.shards.get_mut(&id.cluster).and_then(|shard| shard.lanes.get_mut(&id.context));
        let Some(lane) = lane else { return };
        let under_way = lane.calls.values().filter_map(|ticket| self.pending.generation(*ticket));
        let oldest = under_way.chain(lane.oldest_lost(now)).min();
        lane.record.unanswered = oldest.filter(|oldest| *oldest < lane.record.generation);
    }

    /// Forgets the answered requests that are not desired any more, of a lane that is done, or is being removed: their results
    /// go after the next save. Until then what was issued before stays, beside what is being asked for.
    fn forget_outdated(&mut self, id: &LaneId) {
        let hash = self.lane_mut(id).and_then(|lane| lane.record.bundle);
        let bundle = hash.and_then(|hash| self.contexts.get(&id.context)?.bundles.get(&hash)).cloned();
        // Another bundle has taken the place of this one by now: then that one tells.
        if hash.is_some() && bundle.is_none() {
            return;
        }
        self.lane_mut(id).into_iter().for_each(|lane| lane.forget_outdated(bundle.as_deref()));
    }

    pub(super) fn lane_saved(&mut self, id: &LaneId, ticket: Ticket, saved: Result<SavedLane, store::Error>) {
        let (now, latest) = (self.now, self.now + self.options.late_request_limit);
        let Some(lane) = self.lane_mut(id) else { return };
        let Some(saving) = lane.writing.end(ticket) else { return };
        match saved {
            Ok(SavedLane { version, dropped }) => {
                lane.version = Some(version);
                // What was issued meanwhile is still to be stored.
                lane.outcomes = lane.outcomes.split_off(saving.outcomes);
                if let Err(error) = dropped {
                    return self.save_later(id, BTreeSet::new(), &error);
                }
                let is_removed = lane.record.state == LaneState::Removed;
                if let Some(until) = lane.results_dropped(now) {
                    self.timers.set(until, Alarm::SaveLane(id.clone()));
                }
                self.ready.insert(id.clone());
                if is_removed {
                    self.bury_soon(&id.context);
                }
            }
            Err(store::Error::Conflict { .. }) => {
                lane.reading.outdate();
                self.reload_lane(id);
            }
            Err(error) if may_pass(&error) || lane.refused => {
                if saving.outcomes > 0 && error.is_retryable() {
                    lane.lose(lane.record.generation, now, latest);
                }
                self.save_later(id, saving.given_up, &error);
            }
            Err(error) => self.refused(id, saving.given_up, &error),
        }
    }

    /// The store does not take what is known of a lane, and would not the next time: so much of it is stored that the status
    /// can tell why, and the lane rests until somebody changes something, or asks again.
    fn refused(&mut self, id: &LaneId, given_up: BTreeSet<Arc<str>>, error: &store::Error) {
        tracing::error!(context = %id.context, cluster = %id.cluster,
            error = error as &dyn std::error::Error, "a lane is not taken by the store");
        let Some(context) = self.contexts.get(&id.context) else { return };
        let wanted = context.wanted(&id.cluster);
        self.begin_work(id, wanted);
        let Some(lane) = self.lane_mut(id) else { return };
        lane.take_back(given_up);
        if matches!(error, store::Error::Invalid { .. }) {
            lane.record.shorten();
        }
        let message = "what is known of it can't be stored";
        let cause = Cause::new(Reason::Invalid, message);
        self.set_causes(id, vec![cause.detailed(format!("{message}: {error}"))]);
        self.lane_mut(id).into_iter().for_each(|lane| lane.refused = true);
        self.save(id);
    }

    /// A lane could not be stored, or what goes after it: nothing is done before it is. What only a person can mend is tried
    /// again all the same, and seldom.
    fn save_later(&mut self, id: &LaneId, given_up: BTreeSet<Arc<str>>, error: &store::Error) {
        tracing::warn!(context = %id.context, cluster = %id.cluster,
            error = error as &dyn std::error::Error, "can't store a lane");
        let wait = if error.is_retryable() { self.options.retry_min } else { self.options.retry_max };
        let retry = self.now + wait;
        let Some(lane) = self.lane_mut(id) else { return };
        lane.unsaved = true;
        lane.writing = Writing::Failed;
        lane.given_up = given_up;
        if lane.refused {
            // Answers that came meanwhile made it longer again.
            lane.record.shorten();
        }
        self.timers.set(retry, Alarm::SaveLane(id.clone()));
    }
}

impl Lane {
    /// Nothing of what was about to be stored is: results are asked for again, and claims stay until they are given up again.
    fn take_back(&mut self, given_up: BTreeSet<Arc<str>>) {
        for outcome in std::mem::take(&mut self.outcomes) {
            self.record.issued.retain(|answer| answer.name != outcome.name);
            self.record.dropping.push(outcome.name);
        }
        self.record.add_namespaces(given_up);
    }
}

/// True for an error that is over some day, be it that a person sees to the store. The others are about what is stored, or was to
/// be.
fn may_pass(error: &store::Error) -> bool {
    !matches!(error, store::Error::Invalid { .. } | store::Error::Corrupt { .. })
}
