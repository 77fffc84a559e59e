//! What is seen of objects, held against what is desired of them.

use dcm_core::fields;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::plan::Desired;
use dcm_core::port::cluster::Object;

use super::Machine;
use super::shard::Known;
use super::timers::Alarm;

impl Machine {
    /// Remembers an object that carries our marks, and what of it somebody else took.
    ///
    /// One that tells who holds what and is of a context that is not loaded yet is kept whole until that is known.
    pub(super) fn sight(&mut self, cluster: &ClusterId, object: &Object) -> Option<ContextId> {
        let owner = self.options.owner.clone();
        let marks = object.marks.as_ref().filter(|marks| marks.owner == owner)?;
        let tells = fields::entries(&object.body).next().is_some();
        let desired = if tells { self.desired(cluster, &marks.context, &object.key) } else { None };
        let is_known = self.contexts.contains_key(&marks.context);
        let shard = self.shard_mut(cluster);
        if tells && !is_known {
            let unread = shard.unread.entry(marks.context.clone()).or_default();
            unread.insert(object.key.clone(), object.clone());
        }
        shard.remember(&owner, object, desired.as_ref())
    }

    /// What is desired of an object.
    pub(super) fn desired(
        &self,
        cluster: &ClusterId,
        context: &ContextId,
        key: &ObjectKey,
    ) -> Option<Desired> {
        let context = self.contexts.get(context)?;
        let manifest = context.bundle(cluster)?.manifest(key)?.clone();
        Some(Desired { manifest, labels: context.root.labels.clone() })
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
        for object in shard.unread.remove(context).unwrap_or_default().into_values() {
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
