//! Stored credentials are tried again at intervals. No watch reports that an authority, or the key for tokens, was replaced.
//!
//! A round tries the credentials of all lanes of a cluster. Rounds are not recorded: when a worker reaches a cluster for the first time, the
//! first round begins at a random time within the interval.

use std::sync::Arc;
use std::time::Duration;

use dcm_core::app_context::{Action, Request};
use dcm_core::manifest::GroupVersionKind;
use dcm_core::name::ClusterId;
use dcm_core::plan::{RequestWork, Step, Wave, Why, Work};
use dcm_core::port::clock::Random as _;

use super::Machine;
use super::lane::Lane;
use super::naming::signing_requests;
use super::steps::step_key;
use super::timers::Alarm;
use crate::engine::Safeguard;
use crate::engine::backoff;
use crate::engine::io::{LaneId, Retrial};
use jiff::Timestamp;

/// The longest wait for a round after a connection or a watch was lost: the API server may have restarted with other authorities.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// The wait before a refused credential is tried a second time. An API server that has just started, or one of several replicas, may not
/// have read its authorities yet.
const DOUBT_WAIT: Duration = Duration::from_secs(30);

/// Most rounds in an interval at a cluster whose connection breaks again and again.
const TRIALS_MAX: u32 = 60;

/// After so many doublings, the wait between rounds is the interval.
const DOUBLINGS_MAX: u32 = 6;

/// The shortest interval.
const INTERVAL_MIN: Duration = Duration::from_secs(1);

/// The trials of a lane's credentials.
#[derive(Debug, Default)]
pub(super) struct Trials {
    /// Requests whose stored credentials have not been tried in this round.
    untried: Vec<Arc<str>>,
    /// Requests whose credentials the cluster refused at the last trial.
    refused: Vec<Arc<str>>,
}

/// The rounds of trials at a cluster.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rounds {
    /// When the last one began.
    last: Option<Timestamp>,
    /// In the last round, a credential lapsed or could not be tried.
    is_bad: bool,
    /// How many rounds in a row before it were bad.
    bad: u32,
}

impl Rounds {
    /// The earliest time of the next round. After each bad round the wait is longer.
    fn earliest(&self, now: Timestamp, interval: Duration) -> Timestamp {
        let doublings = (self.bad + u32::from(self.is_bad)).min(DOUBLINGS_MAX);
        let wait = (interval / TRIALS_MAX).saturating_mul(1 << doublings).min(interval);
        self.last.map_or(now, |last| last + wait).max(now)
    }

    fn begin(&mut self, now: Timestamp) {
        self.bad = if self.is_bad { self.bad.saturating_add(1) } else { 0 };
        (self.last, self.is_bad) = (Some(now), false);
    }
}

impl Machine {
    /// Sets the time of the next round at a cluster that is reached: soon, if its API server may have restarted.
    pub(super) fn schedule_trials(&mut self, cluster: &ClusterId, may_have_restarted: bool) {
        let (now, random, interval) = (self.now, self.jitter.next(), self.trial_interval());
        let within = if may_have_restarted { WAIT_MAX.min(interval) } else { interval };
        let earliest = self.shard_mut(cluster).trials.earliest(now, interval);
        self.timers.set(earliest + backoff::part(within, random), Alarm::Trials(cluster.clone()));
    }

    fn trial_interval(&self) -> Duration {
        self.options.trial_interval.max(INTERVAL_MIN)
    }

    /// Begins a round at a cluster.
    pub(super) fn begin_trials(&mut self, cluster: &ClusterId) {
        let (now, keeps) = (self.now, self.options.keeps(Safeguard::CredentialsTriedAgain));
        // A cluster that is not reached gets its next round when it is.
        let Some(shard) = self.shards.get_mut(cluster).filter(|shard| shard.is_up() && keeps) else { return };
        shard.trials.begin(now);
        for (context, lane) in &mut shard.lanes {
            if !lane.record.issued.is_empty() {
                let names = lane.record.issued.iter().map(|answer| answer.name.clone()).collect();
                lane.trials.get_or_insert_default().untried = names;
                self.ready.insert(LaneId { cluster: cluster.clone(), context: context.clone() });
            }
        }
        self.timers.set(now + self.trial_interval(), Alarm::Trials(cluster.clone()));
    }

    /// Sends the trials of a lane that are left in this round, as far as the limits allow it now.
    pub(super) fn send_trials(&mut self, id: &LaneId) {
        if self.leaves_by(&id.cluster).is_some() {
            return;
        }
        let bundle = self.contexts.get(&id.context).and_then(|context| context.bundle(&id.cluster));
        let Some(lane) = self.lane_mut(id).filter(|lane| !lane.queued) else { return };
        let names =
            lane.trials.as_mut().map(|trials| std::mem::take(&mut trials.untried)).unwrap_or_default();
        if names.is_empty() {
            return;
        }
        let is_due = |step: &Step| {
            let Work::Request { name, .. } = &step.work else { return false };
            // A credential that is being stored was tried just now.
            let is_stored = !lane.outcomes.iter().any(|outcome| outcome.name == *name);
            is_stored && lane.record.is_answered(name) && !lane.calls.contains_key(&step_key(step))
        };
        let trials =
            bundle.iter().flat_map(|bundle| bundle.steps()).filter_map(|step| trial(&step.action, &names));
        let steps = trials.filter(is_due).collect();
        let left = self.send_all(id, steps).into_iter().filter_map(|step| match step.work {
            Work::Request { name, .. } => Some(name),
            _ => None,
        });
        let left: Vec<Arc<str>> = left.collect();
        if let Some(lane) = self.lane_mut(id) {
            lane.trials.get_or_insert_default().untried = left;
            lane.tidy_trials();
        }
    }

    /// A credential was tried again. One that the cluster refuses twice is deleted, and requested again.
    pub(super) fn tried_again(&mut self, id: &LaneId, step: &Step, retrial: Retrial) {
        let Work::Request { name, .. } = &step.work else { return };
        let (now, is_wanted) = (self.now, self.is_wanted(id, step));
        let Some(lane) = self.lane_mut(id) else { return };
        match retrial {
            Retrial::Accepted => lane.forget_refused(name),
            Retrial::Refused if !is_wanted => {}
            Retrial::Refused => {
                if lane.note_refused(name) {
                    self.let_lapse(id, name);
                } else {
                    self.timers.set(now + DOUBT_WAIT, Alarm::Trials(id.cluster.clone()));
                }
            }
            Retrial::Unknown => {
                self.shard_mut(&id.cluster).trials.is_bad = true;
                self.schedule_trials(&id.cluster, true);
            }
        }
    }

    fn let_lapse(&mut self, id: &LaneId, name: &Arc<str>) {
        self.shard_mut(&id.cluster).trials.is_bad = true;
        let Some(lane) = self.lane_mut(id) else { return };
        lane.forget_refused(name);
        let lapsed = lane.lapse_where(|answer| answer.name == *name);
        self.publish_lapsed(id, lapsed);
        // The next record must not say that all is done.
        let wanted = self.contexts.get(&id.context).and_then(|context| context.wanted(&id.cluster));
        self.begin_work(id, wanted);
    }
}

impl Lane {
    /// Notes that the cluster refused a request's credential. True if it was refused before.
    pub(super) fn note_refused(&mut self, name: &Arc<str>) -> bool {
        let refused = &mut self.trials.get_or_insert_default().refused;
        let is_known = refused.contains(name);
        if !is_known {
            refused.push(name.clone());
        }
        is_known
    }

    /// True if the cluster refused the request's credential at the last trial.
    pub(super) fn was_refused(&self, name: &Arc<str>) -> bool {
        self.trials.as_ref().is_some_and(|trials| trials.refused.contains(name))
    }

    /// Forgets that the cluster refused a request's credential.
    pub(super) fn forget_refused(&mut self, name: &Arc<str>) {
        if let Some(trials) = &mut self.trials {
            trials.refused.retain(|refused| refused != name);
        }
        self.tidy_trials();
    }

    /// Ends the round, as the connection was lost. Earlier refusals are kept.
    pub(super) fn interrupt_trials(&mut self) {
        if let Some(trials) = &mut self.trials {
            trials.untried.clear();
        }
        self.tidy_trials();
    }

    fn tidy_trials(&mut self) {
        self.trials.take_if(|trials| trials.untried.is_empty() && trials.refused.is_empty());
    }
}

/// The trial of a request's credential; none for an object, and for a request that is not among these.
fn trial(action: &Action, names: &[Arc<str>]) -> Option<Step> {
    let Action::Request { name, request } = action else { return None };
    if !names.contains(name) {
        return None;
    }
    let (kind, key, lifetime) = match request {
        Request::Certificate(request) => {
            let seconds = request.lifetime_seconds.map(|seconds| u64::from(seconds.unsigned_abs()));
            (signing_requests().clone(), request.object(), seconds.map(Duration::from_secs))
        }
        Request::Token(request) => {
            (GroupVersionKind::new("", "v1", "ServiceAccount"), request.account(), None)
        }
    };
    let work = Work::Request { name: name.clone(), work: RequestWork::TryAgain { lifetime } };
    Some(Step { wave: Wave::Tidy, kind, key, work, why: Why::Issued })
}
