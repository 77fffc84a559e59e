//! The round of a lane: look, plan, run the first wave, store what must be stored.

use std::borrow::Cow;
use std::collections::BTreeMap;

use dcm_core::app_context::{Action, Bundle};
use dcm_core::hash::ContentHash;
use dcm_core::plan::{self, Plan, Recorded, Records, Rules, Work};
use dcm_core::port::cluster::Origin;
use dcm_core::status::{Cause, LaneState, Reason};

use super::Machine;
use super::gate::Gate;
use super::lane::{Lane, LaneView};
use super::storing::Reading;
use super::tidying;
use super::timers::Alarm;
use crate::engine::Safeguard;
use crate::engine::event::What;
use crate::engine::io::LaneId;

impl Machine {
    /// Takes a lane as far as it goes without waiting.
    pub(super) fn advance(&mut self, id: &LaneId) {
        let now = self.now;
        if let Some(lane) = self.lane_mut(id) {
            lane.forget_old_looks(now);
        }
        if self.is_behind(id) {
            return;
        }
        self.watch_deadline(id);
        match self.gate(id) {
            Gate::Shut => self.rest(id),
            Gate::Hindered(cause) => self.hinder(id, cause),
            Gate::Open if self.lets_others_plan_before(id) => {}
            Gate::Open => {
                self.overrule(id);
                if let Some((plan, wanted)) = self.plan(id)
                    && !self.doubts(id, &plan)
                {
                    self.note_withdrawn(id, &plan);
                    self.follow(id, &plan, wanted);
                }
            }
        }
        if !self.lane_mut(id).is_some_and(|lane| lane.queued) {
            self.wake_starved(&id.cluster);
        }
        self.release_if_idle(&id.cluster);
    }

    fn plan(&self, id: &LaneId) -> Option<(Plan, Option<ContentHash>)> {
        let shard = self.shards.get(&id.cluster)?;
        let lane = shard.lanes.get(&id.context)?;
        let context = self.contexts.get(&id.context)?;
        if context.wanted(&id.cluster).is_none() && shard.is_clear_of(&id.context) {
            return Some((Plan::default(), None));
        }
        let wanted = context.wanted(&id.cluster);
        let believes = !self.options.keeps(Safeguard::SeenWhenAsked);
        if believes && lane.record.is_at(wanted) && lane.record.attempt != context.root.attempt {
            return Some((Plan::default(), wanted));
        }
        let bundle = context.bundle(&id.cluster);
        let rules = Rules {
            owner: &self.options.owner,
            context: &id.context,
            generation: Some(context.root.generation),
            ahead: lane.record.ahead,
            withdraws: lane.record.withdrawn < context.root.withdraws,
            removal: context.root.removal(),
            asked_again: lane.record.settled < context.root.attempt,
            // Without UIDs nothing is recorded.
            is_watched: self.options.keeps(Safeguard::StockTaken) && self.options.keeps(Safeguard::UidProof),
            in_doubt: lane.is_in_doubt(context.root.generation, self.now)
                && self.options.keeps(Safeguard::DoubtSettled),
        };
        let mut view = LaneView {
            objects: shard.objects.get(&id.context),
            lane,
            bundle: bundle.as_deref(),
            issued: lane.record.answers(),
            unserved: shard.unserved(),
            believed: BTreeMap::new(),
            counts: self.options.keeps(Safeguard::ContentsCounted),
            withdraws: self.options.keeps(Safeguard::RightsWithdrawn),
            now: self.now,
        };
        if !self.options.keeps(Safeguard::RequestCompared) {
            view.believe_requests();
        }
        if !self.options.keeps(Safeguard::AccountCompared) {
            view.believe_tokens();
        }
        let plan = plan::plan(&rules, bundle.as_deref(), &self.records(lane), &view);
        // What is to be done goes first: what it writes need not be read.
        let reading = if plan.is_fulfilled() && bundle.is_some() { lane.reading() } else { None };
        Some((reading.unwrap_or(plan), wanted))
    }

    /// What is recorded of a lane's objects.
    fn records<'a>(&self, lane: &'a Lane) -> Cow<'a, Records> {
        let mut records = Cow::Borrowed(&lane.record.objects);
        if !self.options.keeps(Safeguard::UidProof) {
            records.to_mut().values_mut().for_each(|record| record.uid = None);
        }
        if !self.options.keeps(Safeguard::AdoptedStays) {
            records.to_mut().values_mut().for_each(|record| record.origin = Origin::Created);
        }
        records
    }

    fn follow(&mut self, id: &LaneId, plan: &Plan, wanted: Option<ContentHash>) {
        let finished = plan.is_fulfilled();
        if !finished && self.leaves_by(&id.cluster).is_some() {
            return;
        }
        // Until a look is answered, what rests is as it was, and is not said again.
        let rests = plan.only_looks() && self.lane_mut(id).is_some_and(|lane| lane.record.is_at(wanted));
        let waits = finished && self.is_undecided(id, wanted);
        if finished && !waits {
            self.finish(id, wanted, plan);
        } else if !finished && !rests {
            self.begin_work(id, wanted);
            self.lane_mut(id).into_iter().for_each(Lane::forget_obstacles);
            self.settle(id, plan);
        }
        if !rests {
            self.lapse(id, plan);
        }
        let (unsaved, claims_answered) =
            self.lane_mut(id).map(|lane| (lane.unsaved, lane.claims_answered)).unwrap_or_default();
        // Until a result is stored, the request stays that it can be had from again.
        let later = plan.is_empty() || (finished && (unsaved || self.lets_others_go_before(id)));
        // What a fulfilled plan clears away is no part of what anybody planned.
        let may_go_on = !later && (finished || self.is_as_planned(id, plan));
        if may_go_on && (rests || !claims_answered) && !self.must_touch(id, plan) {
            self.run_wave(id, plan);
        }
        if !rests {
            self.send_trials(id);
        }
        if !rests && self.lane_mut(id).is_some_and(|lane| lane.unsaved) {
            self.save(id);
        }
    }

    /// Before the first request that may make something of a kind, the record names the kind, and the namespaces: whoever
    /// finds the record knows where to look, and that without one nothing of ours can be on the cluster. And before the
    /// first request of a worker that took the cluster from another one, the record is its own: what the other one was
    /// about to store can't come after it. Where the lane is bound to a plan, it says that this may have begun. And it says no
    /// more that something is done that this request undoes, nor that an object is there that is made anew, or that another
    /// one has replaced which is taken over now: should the worker die, and people change their minds, the next one goes by it.
    fn must_touch(&mut self, id: &LaneId, plan: &Plan) -> bool {
        let writes =
            plan.runnable().any(|step| step.work.is_write() || matches!(step.work, Work::Request { .. }));
        let makes = plan.runnable().any(|step| matches!(step.work, Work::Create { .. }));
        let names = self.options.keeps(Safeguard::KindsNamed);
        let bundle = self.contexts.get(&id.context).and_then(|context| context.bundle(&id.cluster));
        let bundle = bundle.as_deref();
        let Some(shard) = self.shards.get_mut(&id.cluster).filter(|_| writes) else { return false };
        let (fence, is_inherited) = (Self::fence(shard), shard.is_inherited());
        let Some(lane) = shard.lanes.get_mut(&id.context) else { return false };
        let is_anothers = is_inherited && lane.record.fence != fence;
        let is_replaced = lane.forget_replaced(plan);
        let must_admit = lane.claims_done || is_replaced || (makes && lane.claims_gone);
        let is_noted = lane.takes_note() | lane.note_edits(plan);
        let must_touch = is_anothers || (names && lane.must_name(bundle)) || must_admit || is_noted;
        if !must_touch {
            return false;
        }
        lane.name(bundle);
        lane.unsaved = true;
        true
    }

    /// True when all is as it is wanted, and what is under way may yet change that.
    fn is_undecided(&mut self, id: &LaneId, wanted: Option<ContentHash>) -> bool {
        let Some(_) = wanted else { return self.must_look_again(id) };
        let awaits = self.options.keeps(Safeguard::RequestsAwaited);
        let is_undecided = |lane: &&mut Lane| awaits && lane.awaits_objects() && !lane.record.is_at(wanted);
        if self.lane_mut(id).filter(is_undecided).is_none() {
            return false;
        }
        // An earlier generation asked for it. Whatever becomes of it wakes the lane.
        self.begin_work(id, wanted);
        true
    }

    /// A removal is not over while a request is under way, or a lost one may still make something: then the cluster is
    /// looked at once more.
    fn must_look_again(&mut self, id: &LaneId) -> bool {
        let (now, latest) = (self.now, self.now + self.options.late_request_limit);
        let awaits = self.options.keeps(Safeguard::RequestsAwaited);
        let Some(lane) = self.lane_mut(id) else { return false };
        if awaits && !lane.calls.is_empty() {
            // Whatever becomes of it wakes the lane.
            self.begin_work(id, None);
            return true;
        }
        let Some(until) = lane.record.uncertain_until.filter(|_| awaits) else { return false };
        if until <= now {
            // A watch may be late: what came in the last moment is in a list that is made now.
            lane.record.uncertain_until = None;
            let kinds: Vec<_> = lane.record.kinds.iter().cloned().collect();
            self.begin_work(id, None);
            self.list_anew(&id.cluster, &kinds);
            return !kinds.is_empty();
        }
        // Another worker may have written it, by a clock that is ahead of ours.
        let until = until.min(latest);
        lane.record.uncertain_until = Some(until);
        let cause = Cause {
            next_try: Some(until),
            ..Cause::new(
                Reason::Waiting,
                "a request without an answer may still take effect; looking once more",
            )
        };
        self.timers.set(until, Alarm::Lane(id.clone()));
        self.begin_work(id, None);
        self.set_causes(id, vec![cause]);
        true
    }

    pub(super) fn begin_work(&mut self, id: &LaneId, wanted: Option<ContentHash>) {
        let Some(root) = self.contexts.get(&id.context).map(|context| &context.root) else { return };
        let (generation, attempt) = (root.generation, root.attempt);
        let lane = self.shards.get(&id.cluster).and_then(|shard| shard.lanes.get(&id.context));
        let state = match wanted {
            Some(_) => LaneState::Working,
            None if lane.is_some_and(|lane| lane.record.is_abandoned(root)) => LaneState::Abandoned,
            None => LaneState::Removing,
        };
        let now = self.now;
        let Some(lane) = self.lane_mut(id) else { return };
        lane.claims_done |= lane.record.state == LaneState::Done && lane.record.bundle != wanted;
        lane.record.bundle = wanted;
        lane.renewed |= (lane.record.generation, lane.record.attempt) != (generation, attempt);
        lane.record.generation = generation;
        lane.record.attempt = attempt;
        if lane.enter(state, now) {
            // What was kept is taken back where it is wanted.
            if wanted.is_none() {
                lane.record.kept.clear();
            }
            self.publish(&id.cluster, Some(&id.context), What::Lane(state));
        }
    }

    /// Once its namespaces are there, and it is known what else is gone, what somebody deletes is not made again in the
    /// same attempt.
    fn settle(&mut self, id: &LaneId, plan: &Plan) {
        let may_be_gone =
            |step: &plan::Step| step.kind.is_namespace() || matches!(step.work, Work::Look | Work::Unrecord);
        let waits = |step: &plan::Step| may_be_gone(step) && matches!(step.wave, plan::Wave::Apply(_));
        if let Some(lane) = self.lane_mut(id).filter(|_| !plan.steps().iter().any(waits)) {
            lane.record.settled = lane.record.attempt;
        }
    }

    fn finish(&mut self, id: &LaneId, wanted: Option<ContentHash>, plan: &Plan) {
        let (tidy, drift, now) = (plan.is_empty(), plan.drift(), self.now);
        self.remind_of(id, drift);
        let Some(context) = self.contexts.get(&id.context) else { return };
        let (generation, attempt) = (context.root.generation, context.root.attempt);
        let (number, withdraws) = (context.root.planned.number, context.root.withdraws);
        let bundle = wanted.and_then(|hash| context.bundles.get(&hash)).cloned();
        let lane = self.shards.get(&id.cluster).and_then(|shard| shard.lanes.get(&id.context));
        let gives_up = lane.is_some_and(|lane| context.root.is_leaving(&id.cluster, &lane.record));
        let leaving = context.root.leaving.get(&id.cluster).filter(|_| gives_up).cloned();
        let is_bound = context.root.planned.clusters.contains_key(&id.cluster);
        if self.options.keeps(Safeguard::StockTaken) {
            self.take_stock(id, bundle.as_deref());
        }
        let Some(lane) = self.lane_mut(id) else { return };
        let untidy = !tidy && lane.failures() < tidying::TRIES_MAX;
        lane.forget_way(tidy);
        if is_bound {
            lane.end_check(number);
        }
        // Claims of a generation of which no worker knew anything have to go, too.
        lane.given_up.extend(leaving.into_iter().flatten());
        let as_recorded = lane.record.is_at(wanted) && lane.record.untidy == untidy && !gives_up;
        // What was asked for is answered by this look. Until somebody asks again, a lane that rests has no write.
        let is_answered = (lane.record.attempt, lane.record.settled) == (attempt, attempt);
        if as_recorded && lane.record.causes == drift && is_answered && !lane.unsaved {
            return;
        }
        (lane.record.attempt, lane.record.settled) = (attempt, attempt);
        lane.record.seen = wanted.map(|_| now);
        lane.conclude(wanted, bundle.as_deref());
        (lane.record.generation, lane.record.untidy) = (generation, untidy);
        lane.record.withdrawn = withdraws.max(lane.record.withdrawn);
        let state = if wanted.is_some() { LaneState::Done } else { LaneState::Removed };
        let changed = lane.enter(state, now);
        lane.unsaved = true;
        self.set_causes(id, drift.to_vec());
        if changed {
            self.publish(&id.cluster, Some(&id.context), What::Lane(state));
        }
    }

    /// Records what is there as it is wanted: the answer that told of a change may have been lost.
    fn take_stock(&mut self, id: &LaneId, bundle: Option<&Bundle>) {
        let Some(shard) = self.shards.get_mut(&id.cluster) else { return };
        let (Some(lane), Some(objects)) = (shard.lanes.get_mut(&id.context), shard.objects.get(&id.context))
        else {
            return;
        };
        for step in bundle.into_iter().flat_map(Bundle::steps) {
            let Action::Apply { manifest, .. } = &step.action else { continue };
            let Some((kind, sighting)) = objects.get(manifest.key()) else { continue };
            let known = lane.record.objects.get(manifest.key());
            let known = known.filter(|known| known.uid.as_ref() == Some(&sighting.uid));
            let seen = Recorded {
                kind: kind.clone(),
                uid: Some(sighting.uid.clone()),
                may_be_gone: false,
                manifest: Some(manifest.hash()),
                origin: sighting.marks.as_ref().map(|marks| marks.origin).unwrap_or_default(),
                stage: step.stage,
                stored: known.and_then(|known| known.stored.clone()),
            };
            if lane.record.objects.get(manifest.key()) != Some(&seen) {
                lane.record.objects.insert(manifest.key().clone(), seen);
                lane.unsaved = true;
            }
        }
    }

    /// Something keeps the whole lane from being worked on: the status tells it.
    pub(super) fn hinder(&mut self, id: &LaneId, cause: Cause) {
        let Some(context) = self.contexts.get(&id.context) else { return };
        let wanted = context.wanted(&id.cluster);
        self.begin_work(id, wanted);
        self.set_causes(id, vec![cause]);
        if self.lane_mut(id).is_some_and(|lane| lane.unsaved) {
            self.save(id);
        }
    }

    /// Replaces what is in the lane's way. A change is stored and told; where the record can't be stored, that is what is in
    /// the way.
    pub(super) fn set_causes(&mut self, id: &LaneId, causes: Vec<Cause>) {
        let Some(lane) = self.lane_mut(id).filter(|lane| !lane.refused) else { return };
        let is_abandoned = lane.record.state == LaneState::Abandoned;
        let causes = if is_abandoned { lane.record.lasting(causes) } else { causes };
        if lane.record.causes == causes {
            return;
        }
        let before = std::mem::replace(&mut lane.record.causes, causes.clone());
        lane.unsaved = true;
        for cause in causes {
            let what = match cause.reason {
                Reason::Waiting => continue,
                reason if reason.is_drift() && before.contains(&cause) => continue,
                reason if reason.is_drift() => What::Drifted(cause),
                _ => What::Hindered(cause),
            };
            self.publish(&id.cluster, Some(&id.context), what);
        }
    }

    /// The lane can't go on now. A result is stored as soon as it is there all the same, and so is what the lane waits
    /// for when nothing is under way; and whoever woke the lane too early may have come in place of its alarm.
    fn rest(&mut self, id: &LaneId) {
        let now = self.now;
        let Some(lane) = self.lane_mut(id) else { return };
        let waits_until = lane.retry_at().filter(|at| *at > now);
        let is_told = !lane.outcomes.is_empty() || (waits_until.is_some() && !lane.is_busy());
        let must_save = lane.unsaved && is_told;
        if let Some(at) = waits_until {
            self.timers.set(at, Alarm::Lane(id.clone()));
        }
        if must_save {
            self.save(id);
        }
        // What another worker wrote could not be read the last time.
        let unread = self.lane_mut(id).is_some_and(|lane| lane.reading == Reading::Stale);
        if unread && self.shards.get(&id.cluster).is_some_and(|shard| self.owns(shard)) {
            self.reload_lane(id);
        }
    }
}
