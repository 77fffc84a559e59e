//! One app context in one cluster: its record, and what is known and under way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::{Action, Bundle, Edited, Generation, Request, Stage};
use dcm_core::hash::ContentHash;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::name::ContextId;
use dcm_core::plan::{
    Answered, CertificateState, EditedObject, Plan, Reading, Recorded, Seen, Sighting, Step, View, Work,
};
use dcm_core::port::cluster::{Contents, Fence, Object};
use dcm_core::port::store::Version;
use dcm_core::status::{Cause, LaneState};
use jiff::Timestamp;

use super::binding::Check;
use super::contests::Contests;
use super::shard::{Objects, Shard};
use super::steps::step_key;
use super::storing::{self, Writing};
use super::trials::Trials;
use crate::engine::io::Ticket;
use crate::record::{self, Outcome};

pub(super) struct Lane {
    /// The record as it is to be stored next.
    pub record: record::Lane,
    /// The version of the stored record; none: nothing is stored.
    pub version: Option<Version>,
    pub reading: storing::Reading,
    /// The shard's fence when the record was read, if nobody owned it then: nobody has written it since while the fence is so.
    pub read_under: Option<Fence>,
    pub writing: Writing,
    /// The store does not take the record as it would be: the lane rests until somebody asks again.
    pub refused: bool,
    /// The record has something that must be stored before the next step.
    pub unsaved: bool,
    /// It speaks of another generation or attempt than the stored one.
    pub renewed: bool,
    /// The stored record says that something else than what is wanted now is done: that is no more so after the next write.
    pub claims_done: bool,
    /// The stored record has UIDs of objects that are gone: what is made anew under their names would not be ours by it.
    pub claims_gone: bool,
    /// The stored record still lists a request as answered that has to be sent again. It is sent after the next write.
    pub claims_answered: bool,
    /// Results that are not stored yet.
    pub outcomes: Vec<Outcome>,
    /// Namespaces that are needed no more: the next save drops the claims on them.
    pub given_up: BTreeSet<Arc<str>>,
    /// Requests under way, by the object or request that they are about.
    pub calls: BTreeMap<StepKey, Ticket>,
    /// A step of the wave could not be sent yet, for want of budget.
    pub starved: bool,
    /// It stands in the queue of those that could not send all they wanted.
    pub queued: bool,
    /// A request was answered, and its next step need not wait for what else is under way.
    pub eager: bool,
    /// What was asked for by name: none when it was not there.
    pub looked: BTreeMap<ObjectKey, Option<Sighting>>,
    /// What was read of objects of which parts are edited: none when it was not there.
    pub texts: BTreeMap<ObjectKey, Option<EditedObject>>,
    /// Readings of texts that were asked for up to this request are too old.
    pub texts_after: Ticket,
    /// What is in namespaces that are to go.
    pub contents: BTreeMap<Arc<str>, Contents>,
    /// Since when the signer has been awaited.
    pub signer_since: Option<Timestamp>,
    /// Recorded objects that must be read by their names before the lane is done. Boxed: most of the time all were seen.
    pub unseen: Option<Box<Unseen>>,
    /// What failed since something was done last. Boxed: most lanes have no failures.
    pub failing: Option<Box<Failing>>,
    /// Requests without an answer that may still change or delete something. Boxed: there are hardly ever any.
    pub lost: Option<Box<Lost>>,
    /// What was read to see whether the cluster is as planned. Boxed: hardly ever is a lane bound.
    pub check: Option<Box<Check>>,
    /// Trials of issued credentials. Boxed, as most lanes have none most of the time.
    pub trials: Option<Box<Trials>>,
    /// Objects that somebody else changes again and again. Boxed: there are hardly ever any.
    pub contests: Option<Box<Contests>>,
}

/// Recorded objects that are not read or written yet in this attempt.
pub(super) struct Unseen {
    pub keys: BTreeSet<ObjectKey>,
    /// The last request before this attempt: its answer does not count.
    pub asked_after: Ticket,
}

/// What failed, and when it is tried again.
#[derive(Default)]
pub(super) struct Failing {
    /// What failed, and why; without a cause what is being tried again.
    pub errors: BTreeMap<StepKey, Option<Cause>>,
    /// How many failures there were in a row.
    pub count: u32,
    pub retry_at: Option<Timestamp>,
    /// When the object that stands in the way is read again: watches do not report objects of others.
    pub look_again: Option<Timestamp>,
    /// How often it was.
    pub looks: u32,
}

/// Requests that had no answer.
pub(super) struct Lost {
    /// The oldest generation that one of them was for.
    generation: Generation,
    /// Until when they may take effect.
    until: Timestamp,
}

/// What a step is about: an object, or a request through it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StepKey {
    pub object: ObjectKey,
    pub request: Option<Arc<str>>,
    /// The member of an edit.
    pub member: Option<Arc<str>>,
}

impl Failing {
    fn has_failed(&self, step: &Step) -> bool {
        !self.errors.is_empty() && self.errors.contains_key(&step_key(step))
    }
}

impl Lane {
    pub(super) fn new(record: record::Lane, version: Option<Version>) -> Self {
        // Whoever wrote it may have died before the results were dropped.
        let unsaved = record.drops_results() && !record.dropping.is_empty();
        Self {
            record,
            version,
            reading: storing::Reading::Known,
            read_under: None,
            writing: Writing::Idle,
            refused: false,
            unsaved,
            renewed: false,
            claims_done: false,
            claims_gone: false,
            claims_answered: false,
            outcomes: Vec::new(),
            given_up: BTreeSet::new(),
            calls: BTreeMap::new(),
            starved: false,
            queued: false,
            eager: false,
            looked: BTreeMap::new(),
            texts: BTreeMap::new(),
            texts_after: Ticket::default(),
            contents: BTreeMap::new(),
            signer_since: None,
            unseen: None,
            failing: None,
            lost: None,
            check: None,
            trials: None,
            contests: None,
        }
    }

    /// What another worker may have written is read anew: what is under way goes on, since sent again it would be done twice,
    /// and what is known beside the record stays.
    pub(super) fn reread(&mut self, record: record::Lane, version: Option<Version>) {
        let (calls, lost) = (std::mem::take(&mut self.calls), self.lost.take());
        let (check, contests, trials) = (self.check.take(), self.contests.take(), self.trials.take());
        let unseen = self.unseen.take();
        *self = Self { calls, lost, check, contests, trials, unseen, ..Self::new(record, version) };
    }

    /// True while nothing new can be begun: it waits for its turn, or objects of the wave are under way. What was asked of
    /// the cluster goes its own way beside them.
    pub(super) fn is_busy(&self) -> bool {
        let goes_on = self.starved || self.eager;
        self.queued || (!goes_on && self.awaits_objects())
    }

    /// An object was read, or written, by this request.
    pub(super) fn saw(&mut self, key: &ObjectKey, ticket: Ticket) {
        let Some(unseen) = &mut self.unseen else { return };
        if ticket > unseen.asked_after && unseen.keys.remove(key) && unseen.keys.is_empty() {
            self.unseen = None;
        }
    }

    /// A plan that reads the unseen objects; none when all are seen. Namespaces are read first: in a namespace that another client took
    /// over, nothing is read.
    pub(super) fn reading(&self) -> Option<Plan> {
        let recorded = |key: &ObjectKey| Some((self.record.objects.get(key)?.kind.clone(), key.clone()));
        let unseen: Vec<_> =
            self.unseen.iter().flat_map(|unseen| &unseen.keys).filter_map(recorded).collect();
        let has_namespaces = unseen.iter().any(|(kind, _)| kind.is_namespace());
        let is_next = |(kind, _): &(GroupVersionKind, _)| !has_namespaces || kind.is_namespace();
        let plan = Plan::reading(unseen.into_iter().filter(is_next));
        (!plan.is_empty()).then_some(plan)
    }

    /// True while a request about an object is under way.
    pub(super) fn awaits_objects(&self) -> bool {
        self.calls.keys().any(|key| key.request.is_none())
    }

    /// True while a request about this object is under way.
    pub(super) fn is_under_way(&self, object: &ObjectKey) -> bool {
        self.calls.contains_key(&StepKey { object: object.clone(), request: None, member: None })
    }

    /// A request is under way no more.
    pub(super) fn call_ended(&mut self, key: &StepKey) {
        self.calls.remove(key);
        if self.calls.is_empty() {
            // An emptied map keeps its memory, and most lanes rest.
            self.calls = BTreeMap::new();
        }
    }

    /// Why steps failed that are not being tried again.
    pub(super) fn told_errors(&self) -> impl Iterator<Item = &Cause> {
        self.failing.iter().flat_map(|failing| failing.errors.values()).flatten()
    }

    /// A step is sent: should it have failed before, that is no more said of it, and still known.
    pub(super) fn try_again(&mut self, key: &StepKey) {
        if let Some(cause) = self.failing.as_mut().and_then(|failing| failing.errors.get_mut(key)) {
            *cause = None;
        }
    }

    /// A step that may have failed before did not.
    pub(super) fn forget_failure(&mut self, key: &StepKey) {
        if let Some(failing) = &mut self.failing {
            failing.errors.remove(key);
        }
    }

    /// How many failures there were in a row.
    pub(super) fn failures(&self) -> u32 {
        self.failing.as_ref().map_or(0, |failing| failing.count)
    }

    /// Until when nothing is tried.
    pub(super) fn retry_at(&self) -> Option<Timestamp> {
        self.failing.as_ref()?.retry_at
    }

    pub(super) fn failing(&mut self) -> &mut Failing {
        self.failing.get_or_insert_default()
    }

    /// Something failed; returns how many failures there were in a row.
    pub(super) fn count_failure(&mut self) -> u32 {
        let failing = self.failing();
        failing.count = failing.count.saturating_add(1);
        failing.count
    }

    /// Forgets what was under way on a connection that is no more, but for what is awaited all the same, and gives the tickets
    /// of that.
    pub(super) fn interrupt(&mut self, is_awaited: impl Fn(Ticket) -> bool) -> Vec<Ticket> {
        let calls = std::mem::take(&mut self.calls).into_iter();
        let (awaited, forgotten): (Vec<_>, Vec<_>) = calls.partition(|(_, ticket)| is_awaited(*ticket));
        self.calls.extend(awaited);
        self.starved = false;
        self.queued = false;
        self.eager = false;
        self.looked.clear();
        self.texts.clear();
        self.contents.clear();
        if let Some(failing) = &mut self.failing {
            failing.errors.clear();
            failing.retry_at = None;
        }
        self.interrupt_trials();
        forgotten.into_iter().map(|(_, ticket)| ticket).collect()
    }

    /// Takes over the work of a worker that died in it: what that one asked for may still come. Where no kind is named, it
    /// had asked for nothing.
    pub(super) fn inherit(&mut self, now: Timestamp, until: Timestamp) {
        let generation = self.record.generation;
        self.lose(self.record.unanswered.map_or(generation, |oldest| oldest.min(generation)), now, until);
        let is_under_way = matches!(self.record.state, LaneState::Working | LaneState::Removing);
        if is_under_way && !self.record.kinds.is_empty() {
            self.record.uncertain_until = self.record.uncertain_until.max(Some(until));
        }
    }

    /// A request of this generation has no answer, and may take effect until then.
    pub(super) fn lose(&mut self, generation: Generation, now: Timestamp, until: Timestamp) {
        let before = self.lost.as_ref().filter(|lost| lost.until > now).map(|lost| lost.generation);
        let generation = before.map_or(generation, |before| before.min(generation));
        self.lost = Some(Box::new(Lost { generation, until }));
    }

    /// The oldest generation of which a lost request may still take effect.
    pub(super) fn oldest_lost(&self, now: Timestamp) -> Option<Generation> {
        self.lost.as_ref().filter(|lost| lost.until > now).map(|lost| lost.generation)
    }

    /// Until when a request without an answer may still take effect, or what an earlier owner sent to the store; none when all
    /// that was sent has come.
    pub(super) fn unanswered_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.lost.as_ref().map(|lost| lost.until).filter(|until| *until > now)
    }

    /// True when a request of an earlier generation may still take effect.
    pub(super) fn is_in_doubt(&self, generation: Generation, now: Timestamp) -> bool {
        self.lost.as_ref().is_some_and(|lost| lost.generation < generation && lost.until > now)
    }

    /// Tries again at once, whatever failed before or stood in the way.
    pub(super) fn encourage(&mut self) {
        self.forget_failures();
        self.refused = false;
        self.looked.clear();
        self.texts.clear();
        self.contests = None;
    }

    /// Whoever asked again may have cleared away what was in the way: until it is met again, nobody is told of it.
    pub(super) fn forget_obstacles(&mut self) {
        if self.renewed && self.record.state != LaneState::Abandoned {
            self.record.causes.retain(|cause| !cause.reason.needs_somebody());
        }
    }

    /// Begins to count anew: nothing is in the way any more.
    pub(super) fn forget_failures(&mut self) {
        self.failing = None;
    }

    /// Forgets what only the way to the end needed, and what failed on it when nothing is left to do.
    pub(super) fn forget_way(&mut self, is_tidy: bool) {
        if is_tidy {
            self.forget_failures();
        }
        self.forget_looks();
        self.forget_texts();
        self.contents.clear();
        self.signer_since = None;
    }

    /// All that was planned is done.
    pub(super) fn end_check(&mut self, number: u64) {
        self.check = None;
        self.unsaved |= std::mem::replace(&mut self.record.checked, number) != number;
    }

    /// Comes into a state; false when it is in it already.
    pub(super) fn enter(&mut self, state: LaneState, now: Timestamp) -> bool {
        if self.record.state == state {
            return false;
        }
        (self.record.state, self.record.since) = (state, now);
        true
    }

    /// Forgets what stood in the way, when it is time to look again.
    pub(super) fn forget_old_looks(&mut self, now: Timestamp) {
        let Some(failing) = &mut self.failing else { return };
        if failing.look_again.is_some_and(|at| at <= now) {
            failing.look_again = None;
            failing.looks = failing.looks.saturating_add(1);
            let objects = &self.record.objects;
            self.looked.retain(|key, found| found.is_none() && objects.contains_key(key));
            self.texts.clear();
        }
    }

    /// Forgets what was asked for by name, but for what is recorded and not there: where that is only reported, it would
    /// have to be asked for each time.
    fn forget_looks(&mut self) {
        let looked = std::mem::take(&mut self.looked).into_iter();
        let objects = &self.record.objects;
        self.looked = looked.filter(|(key, found)| found.is_none() && objects.contains_key(key)).collect();
    }

    /// Everything is as this bundle wants it: what only the way there needed is dropped.
    pub(super) fn conclude(&mut self, wanted: Option<ContentHash>, bundle: Option<&Bundle>) {
        self.give_up_all_but(bundle);
        self.record.bundle = wanted;
        if wanted.is_none() {
            self.record.kinds.clear();
            self.record.uncertain_until = None;
        } else {
            self.record.kept.clear();
        }
    }

    /// Records that objects of ours may be gone, where the plan takes over what others made in their place; true when there are such.
    pub(super) fn forget_replaced(&mut self, plan: &Plan) -> bool {
        let mut is_replaced = false;
        for step in plan.runnable() {
            let Work::Update { observed, .. } = &step.work else { continue };
            let record = self.record.objects.get_mut(&step.key);
            let is_anothers = |record: &&mut Recorded| record.uid.as_ref() != Some(&observed.uid);
            if let Some(record) = record.filter(|record| record.is_expected()).filter(is_anothers) {
                record.may_be_gone = true;
                is_replaced = true;
            }
        }
        is_replaced
    }

    /// Records an object that is there: the worker that wrote it may have died before it recorded that.
    pub(super) fn take_stock(&mut self, object: &Object, stage: Stage) {
        let marks = object.marks.as_ref();
        let found = Recorded {
            kind: object.kind.clone(),
            uid: Some(object.uid.clone()),
            may_be_gone: false,
            manifest: marks.and_then(|marks| marks.manifest),
            origin: marks.map(|marks| marks.origin).unwrap_or_default(),
            stage,
            stored: None,
        };
        self.record.objects.insert(object.key.clone(), found);
        self.unsaved = true;
    }
}

impl Shard {
    /// True when nothing of a context can be on the cluster: nothing was ever sent, and nothing is seen.
    pub(super) fn is_clear_of(&self, context: &ContextId) -> bool {
        let recorded = self.lanes.get(context).is_some_and(|lane| !lane.record.kinds.is_empty());
        !recorded && !self.objects.contains_key(context)
    }

    /// True while a lane's record is on its way to the store, or waits for another try.
    pub(super) fn is_saving_lanes(&self) -> bool {
        self.lanes.values().any(|lane| !matches!(lane.writing, Writing::Idle))
    }
}

/// What a planner sees of a lane.
pub(super) struct LaneView<'a> {
    pub objects: Option<&'a Objects>,
    pub lane: &'a Lane,
    pub bundle: Option<&'a Bundle>,
    pub issued: BTreeMap<&'a str, Answered<'a>>,
    /// The kinds that the cluster did not serve, in any version, when they were listed last: nothing of them was there.
    pub unserved: Vec<&'a GroupVersionKind>,
    /// What counts in place of what was seen.
    pub believed: BTreeMap<ObjectKey, Sighting>,
    /// Contents of namespaces are counted.
    pub counts: bool,
    /// What failed holds up no withdrawal of rights.
    pub withdraws: bool,
    pub now: Timestamp,
}

impl LaneView<'_> {
    /// Believes of each token that it is good whatever becomes of its account.
    pub(super) fn believe_tokens(&mut self) {
        self.issued.values_mut().for_each(|answered| *answered = Answered::Unbound);
    }

    /// Believes of each request for a certificate that is there that it asks for what is desired.
    pub(super) fn believe_requests(&mut self) {
        let steps = self.bundle.map_or(&[][..], Bundle::steps);
        let requests = steps.iter().filter_map(|step| match &step.action {
            Action::Request { request: Request::Certificate(request), .. } => Some(request),
            Action::Request { .. } | Action::Apply { .. } | Action::Edit { .. } => None,
        });
        let believed = requests.filter_map(|request| {
            let Seen::Present(seen) = self.see(&request.object()) else { return None };
            let mut seen = seen.clone();
            seen.remarks.as_mut()?.certificate.as_mut()?.asked = CertificateState::asked_by(request);
            Some((request.object(), seen))
        });
        self.believed = believed.collect();
    }
}

impl View for LaneView<'_> {
    fn see(&self, key: &ObjectKey) -> Seen<'_> {
        if let Some(sighting) = self.believed.get(key) {
            return Seen::Present(sighting);
        }
        // `marked` gives these objects, too, so both agree: also on one of a kind that was not served when it was listed last.
        if let Some((_, sighting)) = self.objects.and_then(|objects| objects.get(key)) {
            return Seen::Present(sighting);
        }
        if self.unserved.iter().any(|kind| kind.kind == key.kind && kind.group == key.group) {
            return Seen::Absent;
        }
        match self.lane.looked.get(key) {
            Some(Some(sighting)) => Seen::Present(sighting),
            Some(None) => Seen::Absent,
            None => Seen::Unlisted,
        }
    }

    /// Of what is listed for others alone nothing: what becomes of an object is not to hang on those, and who plans the same
    /// looks at no other kinds.
    fn marked(&self) -> Vec<(&GroupVersionKind, &ObjectKey, &Sighting)> {
        let objects = self.objects.into_iter().flat_map(|objects| objects.iter());
        let objects = objects.filter(|(_, (kind, _))| self.lane.is_about(self.bundle, kind));
        objects.map(|(key, (kind, sighting))| (kind, key, sighting)).collect()
    }

    fn contents(&self, namespace: &str) -> Option<&Contents> {
        static NOTHING: Contents =
            Contents { count: 0, sample: Vec::new(), bindings: Vec::new(), ignored: Vec::new() };
        if self.counts { self.lane.contents.get(namespace) } else { Some(&NOTHING) }
    }

    fn kept(&self, namespace: &str) -> Option<&Arc<str>> {
        self.lane.record.kept.get(namespace)?.uid.as_ref()
    }

    fn answered(&self, request: &str) -> Option<Answered<'_>> {
        self.issued.get(request).copied()
    }

    fn edited(&self) -> &[Edited] {
        &self.lane.record.edits
    }

    fn read(&self, object: &ObjectKey) -> Reading<'_> {
        Reading::of(self.lane.texts.get(object))
    }

    fn given_up_until(&self, object: &ObjectKey) -> Option<Timestamp> {
        self.lane.contests.as_ref()?.given_up_until(object, self.now)
    }

    fn has_failed(&self, step: &Step) -> bool {
        if !self.withdraws {
            // Then what takes rights away waits for its turn, and nothing passes anything.
            return step.withdraws_right();
        }
        self.lane.failing.as_ref().is_some_and(|failing| failing.has_failed(step))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dcm_core::port::cluster::Object;
    use serde_json::json;

    use super::*;

    /// Else a plan forgets it and finds it again, for ever.
    #[test]
    fn an_object_that_is_marked_is_seen_also_where_its_kind_was_not_served() {
        let kind = GroupVersionKind::new("apps", "v1", "Deployment");
        let key = ObjectKey::of_kind(&kind, Some("team"), "web");
        let object = Object {
            kind: kind.clone(),
            key: key.clone(),
            uid: "a-uid".into(),
            resource_version: "1".into(),
            marks: None,
            deleting: None,
            body: Arc::new(json!({})),
        };
        let objects = Objects::new([(key.clone(), (kind.clone(), Sighting::of(&object, None)))].into());
        let mut record = record::Lane::untouched(Timestamp::UNIX_EPOCH);
        record.kinds.insert(kind.clone());
        let lane = Lane::new(record, None);
        let view = LaneView {
            objects: Some(&objects),
            lane: &lane,
            bundle: None,
            issued: BTreeMap::new(),
            unserved: vec![&kind],
            believed: BTreeMap::new(),
            counts: true,
            withdraws: true,
            now: Timestamp::UNIX_EPOCH,
        };
        let marked: Vec<_> = view.marked().into_iter().map(|(_, key, _)| key).collect();
        assert_eq!(marked, [&key]);
        assert!(matches!(view.see(&key), Seen::Present(_)));
        let other = ObjectKey::of_kind(&kind, Some("team"), "other");
        assert!(matches!(view.see(&other), Seen::Absent));
    }
}
