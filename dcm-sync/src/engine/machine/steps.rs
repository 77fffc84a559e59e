//! Running the first wave of a plan: what needs no request at once, the rest as the budget allows.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::manifest::Manifest;
use dcm_core::name::ClusterId;
use dcm_core::plan::{self, Plan, RequestWork, Step, Why, Work};
use dcm_core::port::clock::Random as _;
use dcm_core::port::cluster::{self, Call, Marks, Origin, Part, Stamped};
use dcm_core::status::{Cause, Reason};

use jiff::Timestamp;

use super::Machine;
use super::binding::writes_its_object;
use super::lane::{Lane, StepKey};
use super::replies::REFUSED_WAIT_FACTOR;
use super::timers::Alarm;
use super::under_way::Pending;
use crate::engine::Safeguard;
use crate::engine::backoff;
use crate::engine::event::What;
use crate::engine::io::{ClusterCall, Effect, LaneId, Request};

/// A signer that answers within this time is not worth a word in the status, which is a write to the store.
const SIGNER_PROMPT: std::time::Duration = std::time::Duration::from_secs(1);

/// What became of a step when it was run.
pub(super) enum Run {
    /// Nothing was sent; the lane is to be planned again, once its record is stored if that changed.
    Changed,
    /// As [`Self::Changed`], and the status tells what somebody else did.
    Drifted(Cause),
    /// Something is under way on the cluster, and there is nothing to tell yet.
    UnderWay,
    /// It has to wait for budget.
    Starved,
    /// It waits, or can't go on, for this cause.
    Waits(Cause),
}

/// What a step is about.
pub(super) fn step_key(step: &Step) -> StepKey {
    let (request, member) = match &step.work {
        Work::Request { name, .. } => (Some(name.clone()), None),
        Work::Edit { member, .. } | Work::RecordEdit { member, .. } => (None, Some(member.clone())),
        _ => (None, None),
    };
    StepKey { object: step.key.clone(), request, member }
}

impl Machine {
    /// Runs what may run now. The lane's record is stored next.
    pub(super) fn run_wave(&mut self, id: &LaneId, plan: &Plan) {
        let mut causes = Vec::new();
        let mut changed = false;
        let (mut starved, mut served) = (false, false);
        for step in plan.runnable() {
            let key = step_key(step);
            let busy = self.lane_mut(id).is_none_or(|lane| lane.calls.contains_key(&key));
            if busy {
                continue;
            }
            match self.run(id, step) {
                Run::Changed => changed = true,
                Run::Drifted(cause) => {
                    changed = true;
                    causes.push(cause);
                }
                Run::UnderWay => served = true,
                Run::Starved => starved = true,
                Run::Waits(cause) => causes.push(cause),
            }
        }
        let Some(lane) = self.lane_mut(id) else { return };
        lane.starved = starved;
        lane.eager = false;
        if starved {
            self.queue(id, served);
        }
        self.tell_causes(id, plan, causes);
        if changed && !self.lane_mut(id).is_some_and(|lane| lane.unsaved) {
            self.ready.insert(id.clone());
        }
    }

    /// Sends what goes before the wave, or after all, and returns what has to wait for budget.
    pub(super) fn send_all(&mut self, id: &LaneId, steps: Vec<Step>) -> Vec<Step> {
        let (mut left, mut served) = (Vec::new(), false);
        for step in steps {
            match self.send(id, step.clone()) {
                Run::Starved => left.push(step),
                _ => served = true,
            }
        }
        let starved = !left.is_empty();
        self.lane_mut(id).into_iter().for_each(|lane| lane.starved = starved);
        if starved {
            self.queue(id, served);
        }
        left
    }

    /// Tells what the wave met, what failed before, and what others did that is left so. What others deleted is told until
    /// it is made again, and the word of it goes with the next record: alone it would cost a write.
    fn tell_causes(&mut self, id: &LaneId, plan: &Plan, met: Vec<Cause>) {
        let Some(lane) = self.lane_mut(id) else { return };
        let is_quiet = lane.told_errors().next().is_none();
        let is_made_again = |cause: &&Cause| {
            let is_made = |step: &Step| {
                cause.object.as_ref() == Some(&step.key) && matches!(step.work, Work::Create { .. })
            };
            cause.reason == Reason::Drifted && plan.runnable().any(is_made)
        };
        let missing = lane.record.causes.iter().filter(is_made_again).cloned();
        let failed = lane.told_errors().cloned();
        let met = met.into_iter().chain(missing);
        let causes: Vec<Cause> = met.chain(failed).chain(plan.drift().iter().cloned()).collect();
        // What is only looked at again is as it was, until the answer is there.
        if !(plan.only_looks() && is_quiet) {
            self.set_causes(id, causes);
        }
    }

    fn run(&mut self, id: &LaneId, step: &Step) -> Run {
        match &step.work {
            Work::Forget => {
                self.drop_record(id, step);
                Run::Changed
            }
            Work::RecordEdit { .. } => self.record_edit(id, step),
            Work::Unrecord => self.unrecord(id, step),
            // Of what does not carry our labels no watch tells, not even that it is gone.
            Work::Await(cause) | Work::Blocked(cause) => {
                Run::Waits(Cause { next_try: self.look_again(id, step).or(cause.next_try), ..cause.clone() })
            }
            Work::Request { work: RequestWork::Collect { certificate }, .. }
                if pem(certificate).is_none() =>
            {
                Run::Waits(cause(Reason::Invalid, "the issued certificate is not base64 of PEM", step))
            }
            Work::Request { name, work: RequestWork::Collect { .. } } => self.collect(id, step, name),
            Work::Request { work: RequestWork::AwaitSigner, .. } => self.await_signer(id, step),
            Work::Request { work: RequestWork::Token { account: None, .. }, .. } => {
                Run::Waits(cause(Reason::Waiting, "the service account is not there", step))
            }
            _ => self.send(id, step.clone()),
        }
    }

    /// Clears the UID of an object that somebody else deleted.
    fn unrecord(&mut self, id: &LaneId, step: &Step) -> Run {
        self.note_correction(id, &step.key);
        if let Some(lane) = self.lane_mut(id)
            && let Some(record) = lane.record.objects.get_mut(&step.key)
        {
            record.uid = None;
            lane.unsaved = true;
        }
        Run::Drifted(plan::drift_cause(&step.key, &[]))
    }

    /// When an object that stands in the way is looked at again; none when a watch tells of it.
    fn look_again(&mut self, id: &LaneId, step: &Step) -> Option<Timestamp> {
        let (now, random) = (self.now, self.jitter.next());
        let (min, max) =
            (self.options.retry_min * REFUSED_WAIT_FACTOR, self.options.retry_max * REFUSED_WAIT_FACTOR);
        let is_about = self.is_about_object(id, &step.key);
        let is_unwatched = |lane: &&mut Lane| match lane.looked.get(&step.key) {
            Some(Some(_)) => true,
            Some(None) => !is_about,
            None => lane.texts.contains_key(&step.key),
        };
        let lane = self.lane_mut(id).filter(is_unwatched)?;
        let failing = lane.failing();
        let next = now + backoff::delay(failing.looks + 1, min, max, random);
        let at = *failing.look_again.get_or_insert(next);
        self.timers.set(at, Alarm::Lane(id.clone()));
        Some(at)
    }

    /// Drops what is recorded of an object that is gone, or not ours.
    pub(super) fn drop_record(&mut self, id: &LaneId, step: &Step) {
        let Some(lane) = self.lane_mut(id) else { return };
        lane.looked.remove(&step.key);
        let dropped = lane.record.objects.remove(&step.key);
        // A namespace that is gone stays gone in the record, whatever comes next.
        lane.unsaved |= dropped.is_some() && step.kind.is_namespace();
        lane.claims_gone |= dropped.is_some_and(|record| record.is_expected());
    }

    /// Tries a certificate. If it was refused before, deletes its CertificateSigningRequest, so that the next step makes another one: the signer
    /// may have another authority by now.
    fn collect(&mut self, id: &LaneId, step: &Step, name: &Arc<str>) -> Run {
        let was_refused = self.lane_mut(id).is_some_and(|lane| lane.was_refused(name));
        // Only requests with our proof are deleted.
        let seen = self.shard_mut(&id.cluster).sighting(&id.context, &step.key);
        let Some(seen) = seen.filter(|seen| was_refused && seen.deleting().is_none()) else {
            return self.send(id, step.clone());
        };
        let work = Work::Delete { observed: seen.precondition() };
        let run = self.send(id, Step { work, why: Why::NotIssued, ..step.clone() });
        if let (Run::UnderWay, Some(lane)) = (&run, self.lane_mut(id)) {
            lane.forget_refused(name);
        }
        run
    }

    fn await_signer(&mut self, id: &LaneId, step: &Step) -> Run {
        let (now, limit) = (self.now, self.options.signer_limit);
        let Some(lane) = self.lane_mut(id) else { return Run::Changed };
        let since = *lane.signer_since.get_or_insert(now);
        if now < since + SIGNER_PROMPT {
            self.timers.set(since + SIGNER_PROMPT, Alarm::Lane(id.clone()));
            return Run::UnderWay;
        }
        if now < since + limit {
            self.timers.set(since + limit, Alarm::Lane(id.clone()));
            return Run::Waits(cause(Reason::Waiting, "approved; the signer has not issued yet", step));
        }
        let message = format!(
            "approved, but not issued for more than {} s: is the cluster's signing controller running? A user of \
             type token needs none",
            limit.as_secs()
        );
        Run::Waits(cause(Reason::SignerSilent, &message, step))
    }

    /// Sends a step's request, if the limits allow it now.
    fn send(&mut self, id: &LaneId, step: Step) -> Run {
        if !self.may_send(&id.cluster, step.work.is_write()) {
            return Run::Starved;
        }
        let Some((call, request)) = self.request(id, &step) else {
            return Run::Waits(cause(Reason::Invalid, "it can't be put into a request", &step));
        };
        if let Some(cause) = drift(&step) {
            self.publish(&id.cluster, Some(&id.context), What::Drifted(cause));
        }
        self.send_request(id, step, call, request);
        Run::UnderWay
    }

    pub(super) fn send_request(&mut self, id: &LaneId, step: Step, call: Call, request: Request) {
        let ticket = self.next_ticket();
        let Some(shard) = self.shards.get_mut(&id.cluster) else { return };
        shard.requests += 1;
        let epoch = shard.epoch;
        if let Some(lane) = shard.lanes.get_mut(&id.context) {
            if let Some(check) = lane.check.as_mut().filter(|_| writes_its_object(&step)) {
                check.note_written(&step.key);
            }
            let key = step_key(&step);
            lane.try_again(&key);
            lane.calls.insert(key, ticket);
        }
        self.pending.insert(
            ticket,
            Pending { lane: id.clone(), epoch, generation: call.generation, step },
            self.now,
        );
        self.effects.push(Effect::Call(Box::new(ClusterCall {
            ticket,
            cluster: id.cluster.clone(),
            epoch,
            call,
            request,
            limit: self.options.request_limit,
            #[cfg(feature = "planted-faults")]
            hits_whatever_is_there: !self.options.keeps(Safeguard::StateObserved),
        })));
    }

    /// Limits: the session, the cluster's own wish, requests under way, and the cluster's write budget.
    fn may_send(&mut self, cluster: &ClusterId, write: bool) -> bool {
        if !self.session_is_valid() {
            return false;
        }
        let (now, cluster_max) = (self.now, self.options.cluster_requests_max);
        let counts = self.options.keeps(Safeguard::Budget);
        let has_room = self.has_room_for(cluster);
        let Some(shard) = self.shards.get_mut(cluster) else { return false };
        if let Some(until) = shard.hold_until.filter(|until| *until > now) {
            self.timers.set(until, Alarm::Cluster(cluster.clone()));
            return false;
        }
        if shard.requests >= cluster_max {
            return false;
        }
        if !has_room {
            self.wait_for_turn(cluster);
            return false;
        }
        if let Err(wait) = if write && counts { shard.bucket.take(now) } else { Ok(()) } {
            self.timers.set(now + wait, Alarm::Cluster(cluster.clone()));
            return false;
        }
        true
    }

    pub(super) fn call(&self, id: &LaneId) -> Option<Call> {
        let context = self.contexts.get(&id.context)?;
        let shard = self.shards.get(&id.cluster)?;
        Some(Call {
            owner: self.options.owner.clone(),
            context: Some(id.context.clone()),
            generation: context.root.generation,
            fence: Self::fence(shard),
        })
    }

    fn request(&self, id: &LaneId, step: &Step) -> Option<(Call, Request)> {
        let call = self.call(id)?;
        let (kind, key) = (step.kind.clone(), step.key.clone());
        let request = match &step.work {
            Work::Look => Request::Get { kind, key },
            Work::Count { removes_bindings } => Request::Contents {
                namespace: key.name.clone(),
                proofs: self.proofs_on(&id.cluster),
                removes_bindings: *removes_bindings,
            },
            Work::Create { manifest } => Request::Create(self.stamp(id, manifest, Origin::Created)?),
            Work::Update { manifest, observed, origin, terms } => {
                let mut object = self.stamp(id, manifest, *origin)?;
                // It is still marked as the whole one: that is what is wanted.
                object.manifest = terms.manifest(manifest)?;
                Request::Update { object, observed: observed.clone(), force: terms.force }
            }
            Work::Delete { observed } => Request::Delete { kind, key, observed: observed.clone() },
            Work::Release { observed, origin, .. } => {
                Request::Release { kind, key, observed: observed.clone(), origin: *origin }
            }
            Work::Request { work: RequestWork::Ask { request }, .. } => {
                let manifest = plan::certificate_manifest(request).ok()?;
                Request::Create(self.stamp(id, &manifest, Origin::Created)?)
            }
            Work::Edit { observed, member, text, .. } => {
                let part = Part::Text { member: member.clone(), text: text.clone() };
                Request::SetPart { kind, key, observed: observed.clone(), part }
            }
            Work::Request { work: RequestWork::Approve { observed }, .. } => {
                Request::Approve { observed: observed.clone(), key }
            }
            Work::Request { work: RequestWork::Token { request, .. }, .. } => Request::Token(request.clone()),
            Work::Request { name, work: RequestWork::Collect { certificate } } => {
                Request::Try { name: name.clone(), key, pem: pem(certificate)? }
            }
            Work::Request { name, work: RequestWork::TryAgain { lifetime } } => {
                Request::TryAgain { name: name.clone(), key, lifetime: *lifetime }
            }
            Work::Forget
            | Work::RecordEdit { .. }
            | Work::Unrecord
            | Work::Await(_)
            | Work::Blocked(_)
            | Work::Request { work: RequestWork::AwaitSigner, .. } => return None,
        };
        Some((call, request))
    }

    fn stamp(&self, id: &LaneId, manifest: &Manifest, origin: Origin) -> Option<Stamped> {
        let root = &self.contexts.get(&id.context)?.root;
        let marks = Marks {
            owner: self.options.owner.clone(),
            context: id.context.clone(),
            generation: root.generation,
            manifest: Some(manifest.hash()),
            origin,
        };
        let proof = self.proofs_on(&id.cluster).map(|key| key.prove(manifest.key(), &marks));
        Some(Stamped { manifest: manifest.clone(), marks, labels: root.labels.clone(), proof })
    }
}

/// A certificate as the API has it, decoded.
fn pem(certificate: &str) -> Option<Arc<str>> {
    let bytes = STANDARD.decode(certificate).ok()?;
    Some(String::from_utf8(bytes).ok()?.into())
}

/// What another client did that a step undoes.
fn drift(step: &Step) -> Option<Cause> {
    match (step.why, &step.work) {
        (Why::Drifted, Work::Update { terms, .. }) => Some(plan::drift_cause(&step.key, &terms.taken)),
        (Why::MarksChanged, Work::Update { .. }) => Some(plan::tampered_cause(&step.key, None)),
        (Why::Drifted, Work::Edit { .. }) => Some(plan::edit_drift_cause(&step.key, None)),
        _ => None,
    }
}

pub(super) fn cause(reason: Reason, message: &str, step: &Step) -> Cause {
    Cause { object: Some(step.key.clone()), ..Cause::new(reason, message) }
}

/// The reason that an error is.
pub(super) fn reason_of(error: &cluster::Error) -> Reason {
    match error {
        cluster::Error::Unreachable { .. } | cluster::Error::TimedOut { .. } => Reason::Unreachable,
        cluster::Error::Unauthorized { .. } | cluster::Error::Kubeconfig { .. } => Reason::Unauthorized,
        cluster::Error::Moved => Reason::ClusterChanged,
        cluster::Error::Forbidden { .. } => Reason::Denied,
        cluster::Error::UnknownKind { .. } | cluster::Error::Unsupported { .. } => Reason::UnknownKind,
        cluster::Error::FieldConflict { .. } => Reason::FieldConflict,
        cluster::Error::Invalid { .. } => Reason::Invalid,
        cluster::Error::NotFound
        | cluster::Error::AlreadyExists
        | cluster::Error::Conflict
        | cluster::Error::Gone
        | cluster::Error::TooManyRequests { .. }
        | cluster::Error::Server { .. } => Reason::Retrying,
    }
}
