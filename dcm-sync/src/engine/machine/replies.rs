//! What clusters answer and tell.

use std::time::Duration;

use dcm_core::app_context::Generation;
use dcm_core::causes;
use dcm_core::name::ClusterId;
use dcm_core::plan::{Recorded, RequestWork, Step, Wave, Why, Work};
use dcm_core::port::clock::Random as _;
use dcm_core::port::cluster::{self, Deletion, Object, Origin};
use dcm_core::status::{Cause, LaneState, Reason};

use super::Machine;
use super::lane::Lane;
use super::refusals;
use super::steps::{cause, reason_of, step_key};
use super::timers::Alarm;
use super::under_way::Pending;
use crate::engine::Safeguard;
use crate::engine::backoff;
use crate::engine::event::What;
use crate::engine::io::{LaneId, Reply, Request, Ticket};
use crate::record::Kept;

/// The first wait after a refusal that only somebody can mend is this many times longer than after a passing failure.
pub(super) const REFUSED_WAIT_FACTOR: u32 = 10;

/// How many failures of a lane in a row are tried again as soon as after a passing failure, when the cluster refused what a policy
/// or a right may allow in the next moment. Together some 3 s: API servers read their admission policies anew each second.
const REFUSED_TRIES_SOON: u32 = 3;

/// Longest wait between two tries of a removal that is refused: no event reports that the cause of the refusal is gone.
const REFUSED_REMOVAL_WAIT_MAX: Duration = Duration::from_secs(10);

impl Machine {
    pub(super) fn replied(&mut self, ticket: Ticket, reply: Result<Reply, cluster::Error>) {
        let Some(pending) = self.pending.remove(ticket) else { return };
        if !self.is_current(&pending.lane.cluster, pending.epoch) {
            return self.answered_late(ticket, pending, reply);
        }
        let Pending { lane: id, generation, step, .. } = pending;
        if self.pending.is_only_tidying() {
            self.ready.append(&mut self.patient);
        }
        let Some(shard) = self.shards.get_mut(&id.cluster) else { return };
        shard.requests = shard.requests.saturating_sub(1);
        self.queue.answered(&id.cluster, shard);
        let room = shard.requests + 1 == self.options.cluster_requests_max;
        let Some(lane) = self.lane_mut(&id) else { return };
        let key = step_key(&step);
        lane.call_ended(&key);
        match reply {
            Ok(reply) => {
                lane.forget_failure(&key);
                if matches!(reply, Reply::Found(_) | Reply::Written(_)) {
                    lane.saw(&step.key, ticket);
                }
                let is_old = ticket <= lane.texts_after;
                self.succeeded(&id, &step, reply);
                if let Some(lane) = self.lane_mut(&id).filter(|_| is_old) {
                    lane.texts.remove(&step.key);
                }
            }
            Err(error) => self.failed(&id, &step, generation, &error),
        }
        if room {
            self.wake_starved(&id.cluster);
        }
        let shard = self.shard_mut(&id.cluster);
        shard.forget_gone();
        let Some(lane) = self.lane_mut(&id) else { return };
        lane.eager |= matches!(step.work, Work::Request { .. });
        if !lane.is_busy() {
            self.ready.insert(id);
        }
    }

    /// A connection is no more on which a token was asked for: the token is as good.
    fn answered_late(&mut self, ticket: Ticket, pending: Pending, reply: Result<Reply, cluster::Error>) {
        let Pending { lane: id, step, .. } = pending;
        let key = step_key(&step);
        let is_awaited = |lane: &&mut Lane| lane.calls.get(&key) == Some(&ticket);
        let Some(lane) = self.lane_mut(&id).filter(is_awaited) else { return };
        lane.call_ended(&key);
        if let Ok(reply) = reply {
            self.succeeded(&id, &step, reply);
        }
        self.ready.insert(id);
    }

    fn succeeded(&mut self, id: &LaneId, step: &Step, reply: Reply) {
        match reply {
            Reply::Written(object) => {
                // Named as the step names it: thousands of clusters share the names of their manifests.
                let object = Object { kind: step.kind.clone(), key: step.key.clone(), ..object };
                self.written(id, step, &object);
            }
            Reply::Found(found) => self.found(id, step, found.as_ref()),
            Reply::Deleted(deletion) => self.deleted(id, step, deletion),
            Reply::Released => self.released(id, step),
            Reply::PartSet(object) => self.edited(id, step, &object),
            Reply::Contents(mut contents) => {
                if !self.options.keeps(Safeguard::ControllersIgnored) {
                    contents.count += contents.ignored.len();
                }
                if let Some(lane) = self.lane_mut(id) {
                    lane.contents.insert(step.key.name.clone(), contents);
                }
            }
            Reply::Token(token, trial) => self.token_tried(id, step, token, trial),
            Reply::Tried { pem, trial } => self.certificate_tried(id, step, pem, trial),
            Reply::TriedAgain(retrial) => self.tried_again(id, step, retrial),
            Reply::Untried { pem } => self.certificate_issued(id, step, pem, false),
            Reply::Unread(error) => {
                let message = "the private key of the certificate can't be read";
                let detail = format!("{message}: {}", causes::told(&error));
                self.hinder_step(id, step, cause(Reason::Retrying, message, step).detailed(detail), 1);
            }
        }
    }

    fn written(&mut self, id: &LaneId, step: &Step, object: &Object) {
        if self.shard_mut(&id.cluster).is_gone(object) {
            return;
        }
        let key = step.key.clone();
        // Of what was written, and not of what a watch has told since.
        let sighted = self.sighted(&id.cluster, object);
        let stored = sighted.as_ref().and_then(|sighted| sighted.sighting.altered());
        if let Some(sighted) = sighted {
            self.shard_mut(&id.cluster).remember(sighted);
        }
        self.follow_if_served_again(id, step);
        let (origin, manifest, what) = match &step.work {
            Work::Create { manifest } => (Origin::Created, manifest, What::Created(key.clone())),
            Work::Update { manifest, origin: Origin::Adopted, .. } => {
                (Origin::Adopted, manifest, What::Adopted(key.clone()))
            }
            Work::Update { manifest, origin, .. } => (*origin, manifest, What::Updated(key.clone())),
            _ => return,
        };
        let Wave::Apply(stage) = step.wave else { return };
        let is_correction = matches!(step.why, Why::Drifted | Why::MarksChanged);
        let what = if is_correction { What::Corrected(key.clone()) } else { what };
        let record = Recorded {
            kind: step.kind.clone(),
            uid: Some(object.uid.clone()),
            may_be_gone: false,
            manifest: Some(manifest.hash()),
            origin,
            stage,
            stored: stored.map(Box::new),
        };
        if let Some(lane) = self.lane_mut(id) {
            lane.looked.remove(&key);
            if let Some(failing) = &mut lane.failing {
                failing.count = 0;
            }
            if key.namespace.is_none() {
                lane.record.kept.remove(&key.name);
            }
            lane.record.objects.insert(key, record);
        }
        if is_correction {
            self.note_correction(id, &step.key);
        }
        self.publish(&id.cluster, Some(&id.context), what);
    }

    /// Opens the watch of a kind anew that was not served when it was listed last: an object of it is there now.
    fn follow_if_served_again(&mut self, id: &LaneId, step: &Step) {
        if self.shard_mut(&id.cluster).is_unserved(&step.kind) {
            self.reopen_watch(&id.cluster, &step.kind);
        }
    }

    fn found(&mut self, id: &LaneId, step: &Step, found: Option<&Object>) {
        let shard = self.shard_mut(&id.cluster);
        let found = found.filter(|object| !shard.is_gone(object));
        self.note_read(id, step, found);
        if self.note_text(id, step, found) && !self.is_about_object(id, &step.key) {
            return;
        }
        if found.is_some() {
            self.follow_if_served_again(id, step);
        }
        let remembered = found.and_then(|object| self.sight(&id.cluster, object));
        if remembered.as_ref() != Some(&id.context) {
            let desired = self.desired(&id.cluster, &id.context, &step.key);
            let looked = found.map(|object| self.sighting(object, desired.as_ref()));
            let shard = self.shard_mut(&id.cluster);
            shard.forget(&id.context, &step.key);
            if let Some(lane) = shard.lanes.get_mut(&id.context) {
                lane.looked.insert(step.key.clone(), looked);
            }
            return;
        }
        let shard = self.shard_mut(&id.cluster);
        let Some(lane) = shard.lanes.get_mut(&id.context) else { return };
        lane.looked.remove(&step.key);
        // A later object that has the name by now is looked at in its turn.
        let known = shard.objects.get(&id.context).and_then(|known| known.get(&step.key));
        let is_newest = |object: &&Object| known.is_some_and(|(_, known)| known.uid == object.uid);
        if let (Why::NotRecorded, Wave::Apply(stage), Some(object)) =
            (step.why, step.wave, found.filter(is_newest))
        {
            lane.take_stock(object, stage);
        }
    }

    fn deleted(&mut self, id: &LaneId, step: &Step, deletion: Deletion) {
        let shard = self.shard_mut(&id.cluster);
        match deletion {
            Deletion::Pending => {
                shard.going(&id.context, &step.key);
                self.expect_gone(id, step);
            }
            Deletion::Gone => {
                if let Some(gone) = shard.forget(&id.context, &step.key) {
                    shard.note_gone(&step.kind, &gone.uid);
                }
                self.drop_record(id, step);
            }
        }
        self.publish(&id.cluster, Some(&id.context), What::Deleted(step.key.clone()));
    }

    /// An object that we deleted is not missed when it is gone: should it be desired again by then, it is made anew.
    fn expect_gone(&mut self, id: &LaneId, step: &Step) {
        let Some(lane) = self.lane_mut(id) else { return };
        if let Some(record) = lane.record.objects.get_mut(&step.key) {
            lane.claims_gone |= record.is_expected();
            record.may_be_gone = true;
            lane.unsaved |= step.kind.is_namespace();
        }
        // What was read by its name was not being deleted.
        lane.looked.remove(&step.key);
    }

    fn released(&mut self, id: &LaneId, step: &Step) {
        let shard = self.shard_mut(&id.cluster);
        if let Some(released) = shard.forget(&id.context, &step.key) {
            shard.note_gone(&step.kind, &released.uid);
        }
        self.drop_record(id, step);
        if let Work::Release { contents: Some(contents), observed, .. } = &step.work
            && let Some(lane) = self.lane_mut(id)
        {
            lane.record.kept.insert(step.key.name.clone(), Kept::of(contents, &observed.uid));
            lane.unsaved = true;
        }
        self.publish(&id.cluster, Some(&id.context), What::Released(step.key.clone()));
    }

    fn failed(&mut self, id: &LaneId, step: &Step, generation: Generation, error: &cluster::Error) {
        if error.outcome_is_unknown() {
            self.uncertain(id, step, generation);
        } else if let Some(check) = self.lane_mut(id).and_then(|lane| lane.check.as_mut()) {
            check.note_refused(&step.key);
        }
        if error.is_about_cluster() {
            return self.break_link(&id.cluster, error);
        }
        match error {
            // Somebody's: look at it, then decide. Looking takes no budget, so this can't starve.
            cluster::Error::AlreadyExists | cluster::Error::Conflict => self.look(id, step),
            cluster::Error::NotFound if !matches!(step.work, Work::Create { .. } | Work::Request { .. }) => {
                self.look(id, step);
            }
            cluster::Error::UnknownKind { .. } if self.lists_kind_anew(id, step) => {}
            cluster::Error::TooManyRequests { retry_after } => {
                let (min, max) = (self.options.retry_min, self.options.retry_max);
                let until = self.now + retry_after.map_or(min, |asked| asked.min(max));
                self.shard_mut(&id.cluster).hold_until = Some(until);
                self.timers.set(until, Alarm::Cluster(id.cluster.clone()));
            }
            error => self.step_failed(id, step, error),
        }
    }

    /// Lists the objects of a kind anew that was there when it was listed last, and is not now: the watch has not told yet that its definition
    /// is gone. False where that did not help.
    fn lists_kind_anew(&mut self, id: &LaneId, step: &Step) -> bool {
        let Some(shard) = self.shards.get_mut(&id.cluster).filter(|shard| shard.is_listed(&step.kind)) else {
            return false;
        };
        let Some(lane) = shard.lanes.get_mut(&id.context) else { return false };
        if lane.failing().errors.insert(step_key(step), None).is_some() {
            return false;
        }
        self.reopen_watch(&id.cluster, &step.kind);
        true
    }

    /// A request that may make or change something may do so yet, and one that deletes may have done so.
    pub(super) fn uncertain(&mut self, id: &LaneId, step: &Step, generation: Generation) {
        if matches!(step.work, Work::Delete { .. }) {
            self.expect_gone(id, step);
        }
        let (now, until) = (self.now, self.now + self.options.late_request_limit);
        // What is taken over is ours from then on, as if it were made.
        let makes =
            matches!(step.work, Work::Create { .. } | Work::Request { work: RequestWork::Ask { .. }, .. })
                || matches!(step.why, Why::Adopted | Why::Overwritten | Why::TakenBack);
        let Some(lane) = self.lane_mut(id) else { return };
        if step.work.is_write() {
            lane.lose(generation, now, until);
        }
        if makes {
            lane.record.uncertain_until = Some(until);
            lane.unsaved = true;
        }
    }

    /// Reads an object of which what was known turned out not to be so.
    fn look(&mut self, id: &LaneId, step: &Step) {
        let (random, min, max) = (self.jitter.next(), self.options.retry_min, self.options.retry_max);
        let Some(call) = self.call(id).filter(|_| !self.is_paused(id)) else { return };
        let now = self.now;
        let Some(lane) = self.lane_mut(id) else { return };
        let failures = lane.count_failure();
        // The first surprise is looked at at once; an object that others keep changing is not fought over.
        if failures > 1 {
            let at = now + backoff::delay(failures - 1, min / 10, max, random);
            lane.failing().retry_at = Some(at);
            self.timers.set(at, Alarm::Lane(id.clone()));
        }
        let (kind, key) = (step.kind.clone(), step.key.clone());
        let look = Step { work: Work::Look, ..step.clone() };
        self.send_request(id, look, call, Request::Get { kind, key });
    }

    pub(super) fn step_failed(&mut self, id: &LaneId, step: &Step, error: &cluster::Error) {
        let is_refused = !error.is_retryable();
        // A policy or a missing right may be mended already: API servers apply the old rules for a second or two longer.
        let is_tried_soon = is_refused
            && matches!(error, cluster::Error::Forbidden { .. } | cluster::Error::Invalid { .. })
            && self.lane_mut(id).is_some_and(|lane| lane.failures() < REFUSED_TRIES_SOON);
        let factor = if is_refused && !is_tried_soon { REFUSED_WAIT_FACTOR } else { 1 };
        let reason = if is_tried_soon { Reason::Retrying } else { reason_of(error) };
        // Only what a write of a manifest breaks is about the project's own document.
        let is_write = matches!(step.work, Work::Create { .. } | Work::Update { .. });
        let cause = match (error, &step.work, &step.key.namespace) {
            // The cluster's own words name less.
            (cluster::Error::NotFound, Work::Create { .. }, Some(namespace)) => {
                cause(reason, &causes::missing_namespace(namespace), step)
            }
            _ => {
                let message = if is_write { error.sentence_of_write() } else { error.sentence() };
                let whole = |words: String| refusals::worded(&words, step, error);
                cause(reason, &whole(message), step).detailed(whole(causes::told(error)))
            }
        };
        self.hinder_step(id, step, cause, factor);
    }

    /// A step is tried again after a wait, so many times longer than after a passing failure.
    pub(super) fn hinder_step(&mut self, id: &LaneId, step: &Step, cause: Cause, factor: u32) {
        let random = self.jitter.next();
        let (min, longest) = (self.options.retry_min * factor, self.options.retry_max * factor);
        let now = self.now;
        let Some(lane) = self.lane_mut(id) else { return };
        let failures = lane.count_failure();
        let is_refused_removal = factor > 1 && lane.record.state == LaneState::Removing;
        let max = if is_refused_removal { longest.min(REFUSED_REMOVAL_WAIT_MAX) } else { longest };
        let at = now + backoff::delay(failures, min, max, random);
        // Of the steps of one wave the first try counts; a time that is over belongs to an earlier wave.
        let failing = lane.failing();
        let earlier = failing.retry_at.filter(|earlier| *earlier > now);
        failing.retry_at = Some(earlier.map_or(at, |earlier| earlier.min(at)));
        failing.errors.insert(step_key(step), Some(Cause { next_try: Some(at), ..cause }));
        let causes = lane.told_errors().cloned().collect();
        self.timers.set(at, Alarm::Lane(id.clone()));
        if matches!(step.work, Work::Look) && self.shard_mut(&id.cluster).is_listed(&step.kind) {
            // The list does not have it as ours: what was done is that no more, until a look shows otherwise.
            let context = self.contexts.get(&id.context);
            let wanted = context.and_then(|context| context.wanted(&id.cluster));
            self.begin_work(id, wanted);
        }
        self.set_causes(id, causes);
        if self.lane_mut(id).is_some_and(|lane| lane.calls.is_empty() && lane.unsaved) {
            self.save(id);
        }
    }

    /// A watch told of an object.
    pub(super) fn object_seen(&mut self, cluster: &ClusterId, object: &Object) {
        if object.marks.is_none() {
            return self.object_disclaimed(cluster, object);
        }
        // An echo of our own write wakes nobody.
        if self.shard_mut(cluster).knows(object) || self.shard_mut(cluster).has_read_later(object) {
            return;
        }
        let Some(context) = self.sight(cluster, object) else { return };
        let Some(lane) = self.shard_mut(cluster).lanes.get_mut(&context) else { return };
        lane.looked.remove(&object.key);
        self.ready.insert(LaneId { cluster: cluster.clone(), context });
    }

    /// A watch told of an object that carries marks without their proof. One that was ours until now is read by its name.
    fn object_disclaimed(&mut self, cluster: &ClusterId, object: &Object) {
        let shard = self.shard_mut(cluster);
        let Some(context) = shard.context_of(object) else { return };
        shard.told_gone(object);
        shard.forget(&context, &object.key);
        self.ready.insert(LaneId { cluster: cluster.clone(), context });
    }

    /// A watch told that an object is gone, or carries our marks no more.
    pub(super) fn object_gone(&mut self, cluster: &ClusterId, object: &Object) {
        let Some(marks) = &object.marks else { return };
        let context = marks.context.clone();
        let shard = self.shard_mut(cluster);
        shard.told_gone(object);
        let Some(known) = shard.forget(&context, &object.key) else { return };
        // While a finalizer is left it is there, and has lost our labels alone: that shows when it is read by its name.
        let is_held = object.deleting.as_ref().is_some_and(|finalizers| !finalizers.is_empty());
        let was_going = (known.deleting().is_some() || object.deleting.is_some()) && !is_held;
        if known.uid != object.uid {
            // An object of the same name is there already; what is gone was its forerunner.
            let objects = shard.objects.entry(context).or_default();
            objects.insert(object.key.clone(), (object.kind.clone(), known));
            return;
        }
        if let Some(lane) = shard.lanes.get_mut(&context)
            && was_going
            && lane.record.objects.contains_key(&object.key)
        {
            lane.looked.insert(object.key.clone(), None);
        }
        self.ready.insert(LaneId { cluster: cluster.clone(), context });
    }
}
