//! What is seen of objects, held against what is desired of them.

use dcm_core::fields;
use dcm_core::manifest::ObjectKey;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::plan::Desired;
use dcm_core::port::cluster::Object;

use super::Machine;

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
