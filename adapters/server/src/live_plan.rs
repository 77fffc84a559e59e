//! What would be done to one cluster now: the engine's own planner on what the cluster shows.
//!
//! Only reads are sent. What the engine has recorded is not looked at: what is ours is told by our marks alone, so a
//! namespace that somebody deleted is planned to be made, where the engine would halt and ask.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::{Action, Bundle};
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::name::ContextId;
use dcm_core::plan::{Desired, Plan, Records, Rules, Seen, Sighting, View, plan};
use dcm_core::port::cluster::{Call, Cluster, Contents, Error, Object, Selection, WatchEvent};
use dcm_core::port::synchronizer::Removal;
use futures::StreamExt as _;

/// Why there is no plan for a cluster.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the cluster could not be looked at")]
pub struct PlanError(#[from] Error);

/// What an app context places on one cluster.
#[derive(Debug, Clone)]
pub struct Placed<'a> {
    /// The app context.
    pub context: &'a ContextId,
    /// Its labels.
    pub labels: Arc<BTreeMap<String, String>>,
    /// What the cluster is to hold.
    pub bundle: &'a Bundle,
}

/// What is seen of a cluster, and which requests are answered.
struct Looked<'a> {
    placed: &'a Placed<'a>,
    objects: BTreeMap<ObjectKey, Option<(GroupVersionKind, Sighting)>>,
    issued: &'a BTreeSet<Arc<str>>,
}

/// Plans what would be done to a cluster so that it holds what is placed on it. `kinds` are looked through for what is ours and
/// not in the bundle, beside the bundle's own kinds; `issued` are the requests whose results are stored.
///
/// # Errors
/// [`PlanError`] when the cluster does not answer, or refuses a read.
pub async fn live_plan(
    cluster: &dyn Cluster,
    call: &Call,
    placed: &Placed<'_>,
    kinds: &BTreeSet<GroupVersionKind>,
    issued: &BTreeSet<Arc<str>>,
) -> Result<Plan, PlanError> {
    let mut looked = Looked { placed, objects: BTreeMap::new(), issued };
    let wanted: Vec<_> = placed.bundle.steps().iter().filter_map(|step| manifest_of(&step.action)).collect();
    let own = wanted.iter().map(|(kind, _)| (*kind).clone());
    for kind in kinds.iter().cloned().chain(own).collect::<BTreeSet<_>>() {
        looked.list(cluster, call, kind).await?;
    }
    for (kind, key) in wanted {
        looked.look(cluster, call, kind, key).await?;
    }
    let removal = Removal::default();
    let rules = Rules {
        owner: &call.owner,
        context: placed.context,
        generation: None,
        ahead: None,
        removal,
        asked_again: true,
    };
    Ok(plan(&rules, Some(placed.bundle), &Records::new(), &looked))
}

fn manifest_of(action: &Action) -> Option<(&GroupVersionKind, &ObjectKey)> {
    match action {
        Action::Apply { manifest, .. } => Some((manifest.kind(), manifest.key())),
        Action::Request { .. } => None,
    }
}

impl Looked<'_> {
    /// Reads the objects of a kind that carry our owner's mark. A kind that the cluster lacks has none.
    async fn list(
        &mut self,
        cluster: &dyn Cluster,
        call: &Call,
        kind: GroupVersionKind,
    ) -> Result<(), Error> {
        let selection = Selection { kind, owner: call.owner.clone() };
        let mut watch = match cluster.watch(call, &selection).await {
            Ok(watch) => watch,
            Err(Error::UnknownKind { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        if let Some(WatchEvent::Listed(objects)) = watch.next().await.transpose()? {
            for object in &objects {
                self.objects.insert(object.key.clone(), Some(self.sighting(object)));
            }
        }
        Ok(())
    }

    /// Reads one object that was not listed.
    async fn look(
        &mut self,
        cluster: &dyn Cluster,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
    ) -> Result<(), Error> {
        if self.objects.contains_key(key) {
            return Ok(());
        }
        let found = match cluster.get(call, kind, key).await {
            Err(Error::UnknownKind { .. }) => None,
            other => other?,
        };
        let found = found.as_ref().map(|object| self.sighting(object));
        self.objects.insert(key.clone(), found);
        Ok(())
    }

    /// An object held against what is desired of it. Others of our owner's may be another app context's.
    fn sighting(&self, object: &Object) -> (GroupVersionKind, Sighting) {
        let is_others = object.marks.as_ref().is_some_and(|marks| marks.context != *self.placed.context);
        let manifest = self.placed.bundle.manifest(&object.key).filter(|_| !is_others);
        let labels = || self.placed.labels.clone();
        let desired = manifest.map(|manifest| Desired { manifest: manifest.clone(), labels: labels() });
        (object.kind.clone(), Sighting::of(object, desired.as_ref()))
    }
}

impl View for Looked<'_> {
    fn see(&self, key: &ObjectKey) -> Seen<'_> {
        match self.objects.get(key) {
            Some(Some((_, sighting))) => Seen::Present(sighting),
            Some(None) => Seen::Absent,
            None => Seen::Unlisted,
        }
    }

    fn marked(&self) -> Vec<(&GroupVersionKind, &ObjectKey, &Sighting)> {
        let ours = |sighting: &Sighting| {
            sighting.marks.as_ref().is_some_and(|marks| marks.context == *self.placed.context)
        };
        let present = self.objects.iter().filter_map(|(key, found)| {
            let (kind, sighting) = found.as_ref()?;
            Some((kind, key, sighting))
        });
        present.filter(|(_, _, sighting)| ours(sighting)).collect()
    }

    fn contents(&self, _: &str) -> Option<&Contents> {
        None
    }

    fn is_issued(&self, request: &str) -> bool {
        self.issued.contains(request)
    }
}
