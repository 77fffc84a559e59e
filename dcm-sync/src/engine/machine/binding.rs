//! An apply that is bound to what was planned. Before the first write to a cluster the cluster has to be as it was then, as far
//! as it is ours; and each object still has to be so when it is written. Else the lane halts, alone.
//!
//! What was read for that is kept in memory. Before the first write the record says that it was so: a worker that comes after
//! one which may have begun to write goes on unbound, as what it finds is the work of the other one, too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::{Bundle, Stage};
use dcm_core::hash::ContentHash;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::plan::{Observed, Plan, Step, Wave, Why, Work, observed_state};
use dcm_core::port::cluster::Object;
use dcm_core::status::{Cause, Reason};

use super::Machine;
use super::lane::Lane;
use super::naming::signing_requests;
use super::timers::Alarm;
use crate::engine::Safeguard;
use crate::engine::io::LaneId;

const STALE: &str = "it is not as it was when this was planned; plan again, and apply that";

/// What was read of a cluster for one plan.
pub(super) struct Check {
    /// Which plan ([`Planned::number`](crate::record::Planned::number)).
    number: u64,
    /// For which attempt it was read.
    attempt: u64,
    objects: BTreeMap<ObjectKey, Checked>,
    /// Objects that were written since, or may have been: they are not as they were planned on any more.
    written: BTreeSet<ObjectKey>,
    stale: Option<Stale>,
    /// The cluster was found to be as planned.
    agrees: bool,
}

/// How a lane is bound to what was planned.
enum Bound {
    /// To nothing.
    Free,
    /// The cluster was as planned: each object still has to be so.
    Checked,
    /// It has to be in this state, and it is not known yet whether it is.
    Unchecked(Arc<str>),
}

/// What is not as planned.
enum Stale {
    /// Something: a hash does not tell what.
    Something,
    Object(ObjectKey),
}

/// An object as it was read.
struct Checked {
    kind: GroupVersionKind,
    state: Option<ContentHash>,
    version: Option<Arc<str>>,
}

impl Check {
    fn new(number: u64, attempt: u64) -> Self {
        let (objects, written) = (BTreeMap::new(), BTreeSet::new());
        Self { number, attempt, objects, written, stale: None, agrees: false }
    }

    /// An object is being written.
    pub(super) fn note_written(&mut self, key: &ObjectKey) {
        self.written.insert(key.clone());
    }

    /// It was not written.
    pub(super) fn note_refused(&mut self, key: &ObjectKey) {
        self.written.remove(key);
    }

    /// Takes up what was read of an object: what it was at first it still has to be. Of what came later nobody knew.
    fn take(&mut self, key: &ObjectKey, read: Checked) {
        if self.written.contains(key) {
            return;
        }
        match self.objects.get_mut(key) {
            Some(checked) if checked.state != read.state => self.stale = Some(Stale::Object(key.clone())),
            Some(checked) => checked.version = read.version,
            None if self.agrees && read.state.is_some() => self.stale = Some(Stale::Object(key.clone())),
            None => drop(self.objects.insert(key.clone(), read)),
        }
    }

    /// True for an object that was read in another version than this one, or not at all when there was none.
    fn has_moved(&self, key: &ObjectKey, version: Option<&Arc<str>>) -> bool {
        let read = self.objects.get(key).and_then(|checked| checked.version.as_ref());
        !self.written.contains(key) && read != version
    }
}

/// The version in which an object has to be that a step writes, where that is none for a new one; none for other steps.
fn expected_version(step: &Step) -> Option<Option<&Arc<str>>> {
    match &step.work {
        Work::Create { .. } => Some(None),
        Work::Update { observed, .. } | Work::Delete { observed } | Work::Release { observed, .. } => {
            Some(Some(&observed.resource_version))
        }
        _ => None,
    }
}

/// True for a step that writes the object that it names. A token is asked of its ServiceAccount, which stays as it is.
pub(super) fn writes_its_object(step: &Step) -> bool {
    expected_version(step).is_some()
}

impl Lane {
    /// Takes note that the cluster is as planned; true when that is news.
    pub(super) fn takes_note(&mut self) -> bool {
        let Some(check) = self.check.as_deref().filter(|check| check.agrees) else { return false };
        let is_news = self.record.checked < check.number;
        self.record.checked = self.record.checked.max(check.number);
        is_news
    }
}

impl Machine {
    /// True when a lane may go on with what its plan writes: it is bound to nothing, or everything is as it was planned.
    pub(super) fn is_as_planned(&mut self, id: &LaneId, plan: &Plan) -> bool {
        let bound = self.bound(id, plan);
        let unread = match bound {
            Bound::Free => return true,
            Bound::Checked => self.moved(id, plan),
            Bound::Unchecked(_) => self.unread(id, plan),
        };
        if self.halts(id) || self.reads(id, unread) {
            return false;
        }
        let awaits_objects = self.lane_mut(id).is_some_and(|lane| lane.awaits_objects());
        match bound {
            Bound::Unchecked(planned) => !awaits_objects && self.compare(id, &planned),
            _ => true,
        }
    }

    /// How a lane is bound in what its plan writes. Where it is not known yet whether the cluster is as planned, that begins to
    /// be found out; who asks again for what halts has it looked at anew.
    fn bound(&mut self, id: &LaneId, plan: &Plan) -> Bound {
        let Some(root) = self.contexts.get(&id.context).map(|context| &context.root) else {
            return Bound::Free;
        };
        let (number, attempt) = (root.planned.number, root.attempt);
        let planned = root.planned.clusters.get(&id.cluster).cloned();
        let planned = planned.filter(|_| plan.runnable().any(|step| step.work.is_write()));
        let is_held = self.options.keeps(Safeguard::PlanHeld);
        let (Some(planned), Some(lane)) = (planned, self.lane_mut(id)) else { return Bound::Free };
        match lane.check.as_deref().filter(|check| check.number == number) {
            Some(check) if check.agrees && is_held => return Bound::Checked,
            Some(check) if check.agrees => return Bound::Free,
            Some(check) if check.attempt == attempt => {}
            None if lane.record.checked >= number => return Bound::Free,
            _ => lane.check = Some(Box::new(Check::new(number, attempt))),
        }
        Bound::Unchecked(planned)
    }

    /// What is to be read before the first write, and was not yet: what is wanted, recorded, or carries our marks. Namespaces come
    /// first: in one that is somebody else's nothing is looked at that does not carry our marks, as when it was planned.
    fn unread(&self, id: &LaneId, plan: &Plan) -> BTreeMap<ObjectKey, GroupVersionKind> {
        let mut unread = BTreeMap::new();
        let (Some(shard), Some(context)) = (self.shards.get(&id.cluster), self.contexts.get(&id.context))
        else {
            return unread;
        };
        let Some(lane) = shard.lanes.get(&id.context) else { return unread };
        let bundle = context.bundle(&id.cluster);
        let bundle = bundle.as_deref();
        let mut kinds = BTreeSet::new();
        lane.kinds(bundle, &mut |kind| kinds.extend([kind.clone()]));
        let wanted = bundle.into_iter().flat_map(Bundle::manifests);
        unread.extend(wanted.map(|manifest| (manifest.key().clone(), manifest.kind().clone())));
        let recorded = lane.record.objects.iter();
        unread.extend(recorded.map(|(key, record)| (key.clone(), record.kind.clone())));
        unread.retain(|key, _| !plan.is_closed(key));
        let marked = shard.objects.get(&id.context).into_iter().flat_map(|objects| objects.iter());
        let marked = marked.filter(|(_, (kind, _))| kinds.contains(kind));
        unread.extend(marked.map(|(key, (kind, _))| (key.clone(), kind.clone())));
        let known = lane.check.as_ref().map(|check| &check.objects);
        unread.retain(|key, kind| {
            kind != signing_requests() && known.is_none_or(|known| !known.contains_key(key))
        });
        if unread.values().any(GroupVersionKind::is_namespace) {
            unread.retain(|_, kind| kind.is_namespace());
        }
        unread
    }

    /// What a plan writes, and was read in another version.
    fn moved(&mut self, id: &LaneId, plan: &Plan) -> BTreeMap<ObjectKey, GroupVersionKind> {
        let Some(check) = self.lane_mut(id).and_then(|lane| lane.check.as_ref()) else {
            return BTreeMap::new();
        };
        let moved = plan
            .runnable()
            .filter(|step| step.kind != *signing_requests())
            .filter(|step| expected_version(step).is_some_and(|version| check.has_moved(&step.key, version)));
        moved.map(|step| (step.key.clone(), step.kind.clone())).collect()
    }

    /// Reads objects; false when there are none. What is being read or written is left: what becomes of that would be
    /// awaited no more.
    fn reads(&mut self, id: &LaneId, mut objects: BTreeMap<ObjectKey, GroupVersionKind>) -> bool {
        let Some(lane) = self.lane_mut(id) else { return false };
        objects.retain(|key, _| !lane.is_under_way(key));
        if objects.is_empty() {
            return false;
        }
        let steps = objects.into_iter().map(|(key, kind)| Step {
            wave: Wave::Apply(Stage(0)),
            kind,
            key,
            work: Work::Look,
            why: Why::NotListed,
        });
        // What has to wait is read when it is planned again.
        drop(self.send_all(id, steps.collect()));
        true
    }

    /// Takes up what was read of an object of a lane that is bound. What certificates are asked for with is no part of a plan.
    pub(super) fn note_read(&mut self, id: &LaneId, step: &Step, found: Option<&Object>) {
        let is_bound = self.lane_mut(id).is_some_and(|lane| lane.check.is_some());
        if !is_bound || step.kind == *signing_requests() {
            return;
        }
        let is_others =
            found.and_then(|object| object.marks.as_ref()).is_some_and(|marks| marks.context != id.context);
        let desired = self.desired(&id.cluster, &id.context, &step.key).filter(|_| !is_others);
        let read = Checked {
            kind: step.kind.clone(),
            state: found.map(|object| observed_state(object, desired.as_ref())),
            version: found.map(|object| object.resource_version.clone()),
        };
        if let Some(check) = self.lane_mut(id).and_then(|lane| lane.check.as_mut()) {
            check.take(&step.key, read);
        }
    }

    /// Holds what was read against what was planned. When it is so, that is stored before anything is written
    /// ([`Lane::takes_note`]).
    fn compare(&mut self, id: &LaneId, planned: &Arc<str>) -> bool {
        let retry = self.now + self.options.retry_min;
        let Some(shard) = self.shards.get_mut(&id.cluster) else { return false };
        let Some(identity) = shard.identity().cloned() else {
            // It is being stored.
            self.timers.set(retry, Alarm::Lane(id.clone()));
            return false;
        };
        let Some(lane) = shard.lanes.get_mut(&id.context) else { return false };
        let Some(check) = &mut lane.check else { return false };
        let mut observed = Observed::new(identity);
        for (key, checked) in &check.objects {
            observed.take(&checked.kind, key, checked.state);
        }
        if observed.state() == *planned || !self.options.keeps(Safeguard::PlanCompared) {
            check.agrees = true;
            return true;
        }
        check.stale = Some(Stale::Something);
        self.halts(id);
        false
    }

    /// True when a lane halts, as something is not as planned. Who comes after this worker finds that out anew.
    fn halts(&mut self, id: &LaneId) -> bool {
        let Some(lane) = self.lane_mut(id) else { return false };
        let Some(check) = lane.check.as_mut() else { return false };
        let object = match &check.stale {
            None => return false,
            Some(Stale::Something) => None,
            Some(Stale::Object(key)) => Some(key.clone()),
        };
        check.agrees = false;
        let before = check.number.saturating_sub(1);
        lane.record.checked = lane.record.checked.min(before);
        self.hinder(id, Cause { object, ..Cause::new(Reason::PlanStale, STALE) });
        true
    }
}
