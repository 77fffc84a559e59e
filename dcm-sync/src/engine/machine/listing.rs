//! Lists as they come, page by page.
//!
//! Of each page only what is ours, by its proof, is kept, and of that what a planner needs to know. When the list has come to
//! its end, it replaces what was known of its kind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::manifest::{GroupVersionKind, Manifest, ObjectKey};
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::Object;
use dcm_core::port::store::Version;

use super::Machine;
use super::seeing::Sighted;
use super::shard::Known;

/// What has come of a list.
#[derive(Default)]
pub(super) struct Listing {
    /// What is ours, by its key: one that is told several times costs no more. With the version of its context that it was
    /// held against.
    ours: BTreeMap<ObjectKey, (Sighted, Option<Version>)>,
    /// What went before, as far as was known.
    gone: BTreeSet<Arc<str>>,
}

impl Machine {
    /// A page has come.
    pub(super) fn listing(&mut self, cluster: &ClusterId, kind: &GroupVersionKind, objects: &[Object]) {
        if let Some(watch) = self.shard_mut(cluster).watches.get_mut(kind) {
            watch.listing.get_or_insert_default();
        }
        for object in objects {
            let is_gone = self.shard_mut(cluster).gone.contains_key(&object.uid);
            let sighted = self.sighted(cluster, object);
            let against = sighted.as_ref().and_then(|sighted| self.version_of(sighted));
            let Some(watch) = self.shard_mut(cluster).watches.get_mut(kind) else { return };
            let listing = watch.listing.get_or_insert_default();
            if is_gone {
                listing.gone.insert(object.uid.clone());
            }
            if let Some(sighted) = sighted {
                listing.ours.insert(object.key.clone(), (sighted, against));
            }
        }
    }

    /// The list has come to its end.
    pub(super) fn listed(&mut self, cluster: &ClusterId, kind: &GroupVersionKind) {
        let now = self.now;
        let shard = self.shard_mut(cluster);
        let Some(watch) = shard.watches.get_mut(kind) else { return };
        watch.known = Known::Listed;
        watch.has_listed = true;
        watch.row.holds(now);
        let Listing { ours, gone } = watch.listing.take().map(|listing| *listing).unwrap_or_default();
        shard.forget_kind(kind);
        shard.told_all(kind, &gone);
        for (sighted, against) in ours.into_values() {
            if !self.is_uncompared(cluster, &sighted, against) {
                let shard = self.shard_mut(cluster);
                // A server that lost its last writes has older states again.
                let lane = shard.lanes.get_mut(&sighted.context);
                lane.into_iter().for_each(|lane| drop(lane.looked.remove(&sighted.key)));
                shard.remember(sighted);
            }
        }
    }

    /// True for a recorded object that is written as it is desired now, and was held against something else, or nothing: what
    /// others changed of it is not known. It is read by its name. See [`Machine::forget_uncompared`].
    fn is_uncompared(&self, cluster: &ClusterId, sighted: &Sighted, against: Option<Version>) -> bool {
        let shard = self.shards.get(cluster);
        let is_recorded = shard.is_some_and(|shard| shard.has_recorded(&sighted.context, &sighted.key));
        if !is_recorded || self.version_of(sighted) == against {
            return false;
        }
        let bundle = self.contexts.get(&sighted.context).and_then(|context| context.bundle(cluster));
        let wanted = bundle.and_then(|bundle| bundle.manifest(&sighted.key).map(Manifest::hash));
        let written = sighted.sighting.marks.as_ref().and_then(|marks| marks.manifest);
        wanted.is_some() && wanted == written
    }

    fn version_of(&self, sighted: &Sighted) -> Option<Version> {
        self.contexts.get(&sighted.context).map(|context| context.version)
    }
}
