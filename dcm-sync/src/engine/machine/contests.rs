//! Objects that somebody else changes again each time they were brought back: after some rounds they are let be for a
//! while, and for longer each time.

use std::collections::{BTreeMap, VecDeque};

use dcm_core::manifest::ObjectKey;
use dcm_core::status::Cause;
use jiff::Timestamp;

use super::Machine;
use super::timers::Alarm;
use crate::engine::io::LaneId;
use crate::engine::options::Options;

/// The contests of one lane.
#[derive(Debug, Default)]
pub(super) struct Contests(BTreeMap<ObjectKey, Contest>);

#[derive(Debug, Default)]
struct Contest {
    /// When it was brought back, within the window that counts.
    corrected: VecDeque<Timestamp>,
    /// How often it was given up.
    rounds: u32,
    given_up_until: Option<Timestamp>,
}

impl Contests {
    /// Counts that an object is brought back.
    pub(super) fn note(&mut self, object: &ObjectKey, now: Timestamp, options: &Options) {
        self.0.retain(|_, contest| !contest.is_over(now, options));
        let contest = self.0.entry(object.clone()).or_default();
        contest.forget_before(now, options);
        contest.corrected.push_back(now);
        if contest.corrected.len() >= options.corrections_max {
            contest.corrected.clear();
            contest.given_up_until = Some(now + contest.wait(options));
            contest.rounds = contest.rounds.saturating_add(1);
        }
    }

    /// Until when an object is not brought back; none when it is.
    pub(super) fn given_up_until(&self, object: &ObjectKey, now: Timestamp) -> Option<Timestamp> {
        self.0.get(object)?.given_up_until.filter(|until| *until > now)
    }
}

impl Contest {
    fn forget_before(&mut self, now: Timestamp, options: &Options) {
        while self.corrected.front().is_some_and(|at| *at + options.correction_window <= now) {
            self.corrected.pop_front();
        }
    }

    fn wait(&self, options: &Options) -> std::time::Duration {
        let factor = 2_u32.checked_pow(self.rounds).unwrap_or(u32::MAX);
        options.contest_wait_min.saturating_mul(factor).min(options.contest_wait_max)
    }

    /// Nobody changed it for a whole window in which it would have been brought back.
    fn is_over(&self, now: Timestamp, options: &Options) -> bool {
        let last = self.corrected.back().copied().max(self.given_up_until);
        last.is_none_or(|last| last + options.correction_window <= now)
    }
}

impl Machine {
    /// Counts that an object is brought back: who brings it back each time somebody changes it fights for ever.
    pub(super) fn note_correction(&mut self, id: &LaneId, object: &ObjectKey) {
        let (now, options) = (self.now, &self.options);
        let lane = self.shards.get_mut(&id.cluster).and_then(|shard| shard.lanes.get_mut(&id.context));
        if let Some(lane) = lane {
            lane.contests.get_or_insert_default().note(object, now, options);
        }
    }

    /// What was given up for a while is looked at again in time.
    pub(super) fn remind_of(&mut self, id: &LaneId, drift: &[Cause]) {
        if let Some(at) = drift.iter().filter_map(|cause| cause.next_try).min() {
            self.timers.set(at, Alarm::Lane(id.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dcm_core::manifest::GroupVersionKind;
    use jiff::SignedDuration;

    fn object() -> ObjectKey {
        ObjectKey::of_kind(&GroupVersionKind::new("", "v1", "ResourceQuota"), Some("n"), "q")
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
    }

    /// Brings the object back until it is given up, and says for how many seconds.
    fn given_up_for(contests: &mut Contests, options: &Options, from: i64) -> i64 {
        for _ in 0..options.corrections_max {
            assert_eq!(contests.given_up_until(&object(), at(from)), None);
            contests.note(&object(), at(from), options);
        }
        contests.given_up_until(&object(), at(from)).unwrap().duration_since(at(from)).as_secs()
    }

    #[test]
    fn an_object_is_given_up_for_longer_each_time_and_anew_after_a_quiet_window() {
        let options = Options::default();
        let mut contests = Contests::default();
        assert_eq!(given_up_for(&mut contests, &options, 0), 300);
        assert_eq!(given_up_for(&mut contests, &options, 300), 600);
        assert_eq!(given_up_for(&mut contests, &options, 900), 1200);
        assert_eq!(given_up_for(&mut contests, &options, 2100 + 600), 300);
    }

    #[test]
    fn the_wait_has_an_end_and_slow_changes_are_brought_back_for_ever() {
        let options = Options::default();
        let mut contests = Contests::default();
        let mut now = 0;
        for _ in 0..40 {
            now += given_up_for(&mut contests, &options, now);
        }
        let waited = given_up_for(&mut contests, &options, now);
        assert_eq!(waited, i64::try_from(options.contest_wait_max.as_secs()).unwrap());
        let mut contests = Contests::default();
        for round in 0..100 {
            contests.note(&object(), at(round * 300), &options);
            assert_eq!(contests.given_up_until(&object(), at(round * 300)), None);
        }
    }
}
