//! What is seen of objects, held against what is desired of them.

use std::collections::BTreeSet;

use dcm_core::app_context::Bundle;
use dcm_core::manifest::{GroupVersionKind, Manifest, ObjectKey};
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::plan::{Desired, Recorded, Sighting};
use dcm_core::port::cluster::{Marks, Object, WatchEvent};
use dcm_core::port::proof::ClusterProofKey;

use super::Machine;
use super::lane::Unseen;
use super::shard::{Known, Watch};
use super::timers::Alarm;
use crate::engine::Safeguard;
use crate::engine::io::{Input, LaneId, Reply};

/// What was seen of an object of ours.
pub(super) struct Sighted {
    pub(super) context: ContextId,
    pub(super) kind: GroupVersionKind,
    pub(super) key: ObjectKey,
    pub(super) sighting: Sighting,
}

impl Machine {
    /// Takes marks without their proof off the objects of an input: that of all objects is looked at here, and nowhere else. An object
    /// without is like one that has no marks: it is found by its name alone, where it is wanted or recorded.
    pub(super) fn disclaim(&mut self, input: &mut Input) {
        if !self.options.keeps(Safeguard::MarksProved) {
            return;
        }
        let cluster = match &*input {
            Input::Watched(cluster, ..) => Some(cluster),
            Input::Replied(ticket, _) => self.pending.cluster(*ticket),
            _ => None,
        };
        let key = cluster.and_then(|cluster| self.proofs_on(cluster));
        let key = key.as_ref();
        let mut unproved: u64 = 0;
        let mut disclaim = |object: &mut Object| {
            let is_marked = object.marks.is_some();
            object.disclaim_unproved(key);
            unproved += u64::from(is_marked && object.marks.is_none());
        };
        match input {
            Input::Watched(_, _, _, Ok(Some(WatchEvent::Listed(objects) | WatchEvent::Listing(objects)))) => {
                objects.iter_mut().for_each(disclaim);
            }
            Input::Watched(_, _, _, Ok(Some(WatchEvent::Applied(object) | WatchEvent::Deleted(object)))) => {
                disclaim(object);
            }
            Input::Replied(_, Ok(Reply::Found(Some(object)) | Reply::Written(object))) => {
                object.disclaim_unproved(key);
            }
            _ => {}
        }
        self.unproved += unproved;
    }

    /// What proves the marks on the objects of a cluster; none while it is not known which cluster that is.
    pub(super) fn proofs_on(&self, cluster: &ClusterId) -> Option<ClusterProofKey> {
        let told = self.shards.get(cluster)?.told.as_ref()?;
        self.proofs.as_ref().map(|key| key.on(told))
    }

    /// Remembers an object that carries our marks, and what of it somebody else took or changed.
    pub(super) fn sight(&mut self, cluster: &ClusterId, object: &Object) -> Option<ContextId> {
        let sighted = self.sighted(cluster, object)?;
        self.shard_mut(cluster).remember(sighted)
    }

    /// What is to be remembered of an object that carries our marks.
    ///
    /// One of a context that is not loaded yet is kept whole until that is known, as far as there is room.
    pub(super) fn sighted(&mut self, cluster: &ClusterId, object: &Object) -> Option<Sighted> {
        let owner = self.options.owner.clone();
        let marks = object.marks.as_ref().filter(|marks| marks.owner == owner)?;
        let desired = self.desired(cluster, &marks.context, &object.key);
        let (is_known, limits) = (self.contexts.contains_key(&marks.context), self.unread_limits());
        if !is_known && !self.shard_mut(cluster).unread.keep(&marks.context, object, limits) {
            self.unkept += 1;
            return None;
        }
        let mut sighting = self.sighting(object, desired.as_ref());
        let shard = self.shard_mut(cluster);
        let context = shard.objects.get_key_value(&marks.context).map(|(context, _)| context.clone());
        let context = context.unwrap_or_else(|| marks.context.clone());
        // Thousands of objects share two names: keep each once.
        sighting.marks = Some(Marks { owner, context: context.clone(), ..marks.clone() });
        Some(Sighted { context, kind: object.kind.clone(), key: object.key.clone(), sighting })
    }

    /// What is desired of an object.
    pub(super) fn desired(
        &self,
        cluster: &ClusterId,
        context: &ContextId,
        key: &ObjectKey,
    ) -> Option<Desired> {
        let context = self.contexts.get(context).filter(|_| self.options.keeps(Safeguard::DriftCorrected))?;
        let manifest = context.bundle(cluster)?.manifest(key)?.clone();
        Some(Desired { manifest, labels: context.root.labels.clone() })
    }

    /// Forgets recorded objects that were written as they are desired now, and seen while something else was, or nothing: what
    /// others changed of them is not known. They are read by their names. What is not recorded is known by what was seen alone,
    /// and is read before it counts as there.
    pub(super) fn forget_uncompared(&mut self, id: &LaneId, before: Option<&Bundle>) {
        let Some(bundle) = self.contexts.get(&id.context).and_then(|context| context.bundle(&id.cluster))
        else {
            return;
        };
        let Some(shard) = self.shards.get_mut(&id.cluster) else { return };
        for manifest in bundle.manifests() {
            let (key, hash) = (manifest.key(), Some(manifest.hash()));
            let is_compared = before.and_then(|before| before.manifest(key)).map(Manifest::hash) == hash;
            let is_unread = shard.unread.is_whole(&id.context, key);
            let sighting = shard.sighting(&id.context, key).and_then(|sighting| sighting.marks.as_ref());
            let is_recorded = shard.has_recorded(&id.context, key);
            let is_as_written = sighting.is_some_and(|marks| marks.manifest == hash);
            if is_recorded && is_as_written && !is_compared && !is_unread {
                shard.forget(&id.context, key);
            }
        }
    }

    /// Marks the recorded objects of a lane as unseen when a new attempt begins: the watches that report them may lag behind it. A kind that
    /// is not listed yet needs no mark, because its list begins later than the attempt.
    pub(super) fn look_where_asked(&mut self, id: &LaneId, attempt_before: Option<u64>) {
        let Some(context) = self.contexts.get(&id.context) else { return };
        let (attempt, bundle) = (context.root.attempt, context.bundle(&id.cluster));
        let asked_after = self.last_ticket();
        let Some(shard) = self.shards.get_mut(&id.cluster) else { return };
        let Some(lane) = shard.lanes.get_mut(&id.context) else { return };
        if attempt_before != Some(attempt) {
            lane.texts.clear();
            lane.texts_after = asked_after;
        }
        let Some(bundle) = bundle else { return lane.unseen = None };
        if attempt_before == Some(attempt) || lane.record.attempt == attempt {
            return;
        }
        let (watches, objects) = (&shard.watches, &lane.record.objects);
        let is_known = |manifest: &&Manifest| watches.get(manifest.kind()).is_some_and(Watch::may_be_late);
        let is_recorded = |key: &&ObjectKey| objects.get(*key).is_some_and(Recorded::is_expected);
        let keys: BTreeSet<_> =
            bundle.manifests().filter(is_known).map(Manifest::key).filter(is_recorded).cloned().collect();
        lane.unseen = (!keys.is_empty()).then(|| Box::new(Unseen { keys, asked_after }));
    }

    /// Forgets what is known of the objects of a kind that we may not watch, so that each recorded one is asked for by name.
    pub(super) fn read_by_name(&mut self, cluster: &ClusterId, kind: &GroupVersionKind) {
        let next = self.now + self.options.read_interval;
        let Some(shard) = self.shards.get_mut(cluster) else { return };
        if !shard.watches.get(kind).is_some_and(|watch| matches!(watch.known, Known::ByName(_))) {
            return;
        }
        shard.forget_kind(kind);
        for lane in shard.lanes.values_mut() {
            lane.looked.retain(|key, _| key.kind != kind.kind || key.group != kind.group);
        }
        self.timers.set(next, Alarm::Read(cluster.clone(), kind.clone()));
        self.wake_lanes(cluster);
    }

    /// Looks again at objects that were seen before their context was loaded, unless they were seen otherwise since.
    pub(super) fn read_unread(&mut self, cluster: &ClusterId, context: &ContextId) {
        let shard = self.shard_mut(cluster);
        for object in shard.unread.take(context) {
            let known = self.shard_mut(cluster).objects.get(context).and_then(|known| known.get(&object.key));
            let is_as_seen = known.is_some_and(|(_, sighting)| {
                sighting.uid == object.uid && sighting.resource_version == object.resource_version
            });
            if is_as_seen {
                self.sight(cluster, &object);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use dcm_core::app_context::{Action, AppContext, Bundle, Drift, Existing, Generation, Stage, Step};
    use dcm_core::manifest::Manifest;
    use dcm_core::name::AppName;
    use dcm_core::port::cluster::{Marks, Origin, Stamped};
    use dcm_core::port::store::Version;
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::engine::machine::Context;
    use crate::engine::options::Options;
    use crate::record::Root;

    fn manifest() -> Manifest {
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"},
            "data": {"a": "1"}});
        Manifest::new(body).unwrap()
    }

    fn context_id() -> ContextId {
        ContextId::new("lc-1").unwrap()
    }

    fn cluster() -> ClusterId {
        "sim/cluster-1".parse().unwrap()
    }

    /// The object as the cluster tells it after somebody took a field of it.
    fn taken(resource_version: &str) -> Object {
        let manifest = manifest();
        let marks = Marks {
            owner: Options::default().owner,
            context: context_id(),
            generation: Generation(1),
            manifest: Some(manifest.hash()),
            origin: Origin::Created,
        };
        let labels = Arc::new(BTreeMap::new());
        let mut body =
            Stamped { manifest: manifest.clone(), marks: marks.clone(), labels, proof: None }.body();
        let theirs = json!({"manager": "person", "operation": "Update", "fieldsV1": {"f:data": {"f:a": {}}}});
        body["metadata"]["managedFields"] = json!([theirs]);
        Object {
            kind: manifest.kind().clone(),
            key: manifest.key().clone(),
            uid: "u".into(),
            resource_version: resource_version.into(),
            marks: Some(marks),
            deleting: None,
            body: Arc::new(body),
        }
    }

    /// A context that places the object on the cluster, as it is loaded.
    fn context() -> Context {
        let action =
            Action::Apply { manifest: manifest(), existing: Existing::Refuse, drift: Drift::default() };
        let step = Step { app: AppName::new("app").unwrap(), stage: Stage(0), action };
        let bundle = Arc::new(Bundle::new(vec![step]).unwrap());
        let placements = BTreeMap::from([(cluster(), bundle.clone())]);
        let wanted =
            AppContext { id: context_id(), labels: BTreeMap::new(), placements, removal: Default::default() };
        let root = Root::of(&wanted, Generation(1));
        Context {
            root,
            version: Version(1),
            bundles: BTreeMap::from([(bundle.hash(), bundle)]),
            doubted: Default::default(),
            session: 0,
        }
    }

    fn fields_taken(machine: &mut Machine) -> usize {
        let objects = &machine.shard_mut(&cluster()).objects[&context_id()];
        objects[manifest().key()].1.fields().len()
    }

    #[test]
    fn what_was_seen_before_its_context_was_loaded_is_held_against_it_afterwards() {
        let mut machine = Machine::new(Options::default(), 1, Timestamp::UNIX_EPOCH);
        machine.sight(&cluster(), &taken("1"));
        assert_eq!(fields_taken(&mut machine), 0, "nothing is known to be desired");
        machine.contexts.insert(context_id(), context());
        machine.read_unread(&cluster(), &context_id());
        assert_eq!(fields_taken(&mut machine), 1);
        assert!(machine.shard_mut(&cluster()).unread.take(&context_id()).is_empty());
    }

    #[test]
    fn what_was_seen_otherwise_since_is_not_put_back() {
        let mut machine = Machine::new(Options::default(), 1, Timestamp::UNIX_EPOCH);
        machine.sight(&cluster(), &taken("1"));
        let mut ours = taken("2");
        Arc::make_mut(&mut ours.body)["metadata"]["managedFields"] = json!(null);
        machine.sight(&cluster(), &ours);
        machine.contexts.insert(context_id(), context());
        machine.read_unread(&cluster(), &context_id());
        assert_eq!(fields_taken(&mut machine), 0);
    }
}
