//! What would be done to one cluster now: the engine's own planner, on what is recorded and what the cluster shows.
//!
//! Only reads are sent, and, for who is to see the plan, dry runs of what would be written. What the engine would refuse
//! is in the plan: objects of others, drift that is only reported, a cluster that holds later changes than the store,
//! and another cluster than the one that was there before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::{AppContext, Bundle, DataMember, Edited, Generation};
use dcm_core::causes::{self, Reader};
use dcm_core::effect::{self, WithoutEffect};
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::name::ClusterId;
use dcm_core::plan::{
    Answered, Desired, EditedObject, LineChange, Observed, Plan, Reading, Rehearsal, Rules, Seen, Sighting,
    Step, Text, View, Work, edited_members, plan,
};
use dcm_core::port::cluster::{Call, Cluster, Contents, Error, Object, Selection};
use dcm_core::port::listing::listed;
use dcm_core::port::proof::{ClusterProofKey, ProofKey};

use super::rehearsal::{Rehearsing, rehearse};
use crate::contexts::LaneProspect;

/// Most parts without an effect that a plan of one cluster has: a person reads no more.
pub const WITHOUT_EFFECT_MAX: usize = 100;

/// Why there is no plan for a cluster.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the cluster could not be looked at")]
pub struct PlanError(#[from] Error);

impl PlanError {
    /// The error in the words for a reader.
    #[must_use]
    pub fn words_for(&self, reader: Reader) -> String {
        match reader {
            Reader::Member => format!("{self}: {}", self.0.sentence()),
            Reader::PlatformAdmin => causes::told(self),
        }
    }
}

/// What would be done to one cluster.
#[derive(Debug, Clone)]
pub struct LivePlan {
    /// What is left to do.
    pub plan: Plan,
    /// What was seen, as far as it is ours.
    pub observed: Observed,
    /// What a dry run of each write gave that makes or updates an object, or why the cluster did not make it; empty where it was only looked.
    pub rehearsals: BTreeMap<ObjectKey, Result<Rehearsal, Error>>,
    /// The lines of texts of other clients that would change, by object and member.
    pub lines: BTreeMap<(ObjectKey, Arc<str>), LineChange>,
    /// What is in the namespaces that would go if nothing of others is in them; empty where it was only looked, and without those of which
    /// the cluster does not tell.
    pub contents: BTreeMap<ObjectKey, Contents>,
    /// Parts of what is wanted that have no effect on this cluster, each with its object, at most [`WITHOUT_EFFECT_MAX`]; empty where it was only looked, and where the
    /// discovery of the cluster failed.
    pub without_effect: Vec<(ObjectKey, WithoutEffect)>,
    /// It is another cluster than the one that was reached before: nothing is written until a person has looked.
    pub is_replaced: bool,
}

/// What is wanted of one cluster, and what is recorded of it.
pub(super) struct Place<'a> {
    pub(super) context: &'a AppContext,
    pub(super) cluster: &'a ClusterId,
    pub(super) generation: Generation,
    pub(super) recorded: &'a LaneProspect,
    /// What proves the marks on objects, of all clusters.
    pub(super) proofs: Option<&'a ProofKey>,
}

/// What is seen of a cluster.
struct Looked<'a> {
    place: &'a Place<'a>,
    bundle: Option<&'a Bundle>,
    labels: Arc<BTreeMap<String, String>>,
    /// What proves the marks on the objects of this cluster.
    proofs: Option<ClusterProofKey>,
    objects: BTreeMap<ObjectKey, Option<(GroupVersionKind, Sighting)>>,
    /// What was read of objects of which parts are edited.
    texts: BTreeMap<ObjectKey, Option<EditedObject>>,
    observed: Observed,
    /// What is planned on what is seen so far.
    plan: Plan,
}

/// Plans what would be done to a cluster so that it holds what is placed on it, and rehearses that where it is to be shown.
///
/// # Errors
/// [`PlanError`] when the cluster does not answer, or refuses a read.
pub(super) async fn live_plan(
    cluster: &dyn Cluster,
    call: &Call,
    place: &Place<'_>,
    rehearsing: Rehearsing,
) -> Result<LivePlan, PlanError> {
    let identity = cluster.uid(call).await.map_err(Error::of_identity)?;
    let recorded = place.recorded;
    let is_replaced = recorded.identity.as_ref().is_some_and(|known| *known != identity);
    let proofs = place.proofs.map(|key| key.on(&identity));
    let mut looked = Looked::new(place, proofs, Observed::new(identity));
    let rules = Rules {
        owner: &call.owner,
        context: &place.context.id,
        generation: Some(place.generation),
        ahead: recorded.ahead,
        withdraws: false,
        removal: place.context.removal,
        // Each apply asks again.
        asked_again: true,
        in_doubt: false,
        is_watched: false,
    };
    // Namespaces first: in one that is somebody else's nothing is looked at.
    for of_namespaces in [true, false] {
        looked.look_at_all(cluster, call, |kind| kind.is_namespace() == of_namespaces).await?;
        looked.plan = plan(&rules, looked.bundle, &recorded.objects, &looked);
    }
    let lines = looked.lines();
    let Looked { plan, observed, proofs, .. } = looked;
    let rehearsals = match rehearsing {
        // Nothing would be written.
        Rehearsing::Writes if !is_replaced => rehearse(cluster, call, place, &plan).await?,
        Rehearsing::Writes | Rehearsing::Nothing => BTreeMap::new(),
    };
    let contents = match rehearsing {
        Rehearsing::Writes if !is_replaced => contents_of(cluster, call, place, &plan, proofs.as_ref()).await,
        Rehearsing::Writes | Rehearsing::Nothing => BTreeMap::new(),
    };
    let without_effect = match rehearsing {
        Rehearsing::Writes if !is_replaced => without_effect(cluster, call, place).await,
        Rehearsing::Writes | Rehearsing::Nothing => Vec::new(),
    };
    Ok(LivePlan { plan, observed, rehearsals, lines, contents, without_effect, is_replaced })
}

/// Looks for parts of what is wanted that have no effect on a cluster. It is asked what it serves where something depends on that.
async fn without_effect(
    cluster: &dyn Cluster,
    call: &Call,
    place: &Place<'_>,
) -> Vec<(ObjectKey, WithoutEffect)> {
    let bundle = place.context.placements.get(place.cluster);
    let manifests = || bundle.into_iter().flat_map(|bundle| bundle.manifests());
    if !manifests().any(effect::depends_on_resources) {
        return Vec::new();
    }
    let Ok(resources) = cluster.resources(call).await else { return Vec::new() };
    let resources = resources.with_definitions(manifests());
    let found = manifests().flat_map(|manifest| {
        let found = effect::without_effect(manifest, &resources).into_iter();
        found.map(|found| (manifest.key().clone(), found))
    });
    found.take(WITHOUT_EFFECT_MAX).collect()
}

/// Counts what is in the namespaces that would go. What can't be counted is not known: the engine counts again before it deletes one.
async fn contents_of(
    cluster: &dyn Cluster,
    call: &Call,
    place: &Place<'_>,
    plan: &Plan,
    proofs: Option<&ClusterProofKey>,
) -> BTreeMap<ObjectKey, Contents> {
    let call = Call { context: Some(place.context.id.clone()), ..call.clone() };
    let mut counted = BTreeMap::new();
    for step in plan.steps().iter().filter(|step| matches!(step.work, Work::Count { .. })) {
        if let Ok(contents) = cluster.contents(&call, &step.key.name, proofs).await {
            counted.insert(step.key.clone(), contents);
        }
    }
    counted
}

impl<'a> Looked<'a> {
    fn new(place: &'a Place<'a>, proofs: Option<ClusterProofKey>, observed: Observed) -> Self {
        let bundle = place.context.placements.get(place.cluster).map(|bundle| &**bundle);
        let labels = Arc::new(place.context.labels.clone());
        Self {
            place,
            bundle,
            labels,
            proofs,
            objects: BTreeMap::new(),
            texts: BTreeMap::new(),
            observed,
            plan: Plan::default(),
        }
    }

    /// Reads what is wanted or recorded of some kinds.
    async fn look_at_all(
        &mut self,
        cluster: &dyn Cluster,
        call: &Call,
        is_of: impl Fn(&GroupVersionKind) -> bool,
    ) -> Result<(), Error> {
        let recorded = self.place.recorded;
        let wanted: Vec<_> = self.wanted().filter(|(kind, _)| is_of(kind)).collect();
        let written = recorded.objects.iter().map(|(key, record)| (&record.kind, key));
        let own = wanted.iter().map(|(kind, _)| (*kind).clone());
        let kinds = recorded.kinds.iter().filter(|kind| is_of(kind)).cloned().chain(own);
        for kind in kinds.collect::<BTreeSet<_>>() {
            self.list(cluster, call, kind).await?;
        }
        for (kind, key) in wanted.into_iter().chain(written.filter(|(kind, _)| is_of(kind))) {
            self.look(cluster, call, kind, key).await?;
        }
        if is_of(DataMember::kind()) {
            self.look_at_edits(cluster, call).await?;
        }
        Ok(())
    }

    /// The lines that the plan's edits would change, by object and member.
    fn lines(&self) -> BTreeMap<(ObjectKey, Arc<str>), LineChange> {
        let change = |step: &Step| {
            let Work::Edit { member, text, .. } = &step.work else { return None };
            let before = match self.texts.get(&step.key)?.as_ref()?.texts.get(member)? {
                Text::Whole(before) => before,
                Text::With(_) => return None,
            };
            Some(((step.key.clone(), member.clone()), LineChange::between(member, before, text)))
        };
        self.plan.steps().iter().filter_map(change).collect()
    }

    /// Reads the objects of which parts are edited, or were, and the Services that the edits need.
    async fn look_at_edits(&mut self, cluster: &dyn Cluster, call: &Call) -> Result<(), Error> {
        for (key, members) in edited_members(self.bundle, &self.place.recorded.edits) {
            let mut found = cluster.get(call, DataMember::kind(), &key).await?;
            found.iter_mut().for_each(|object| object.disclaim_unproved(self.proofs.as_ref()));
            self.texts.insert(key, found.map(|object| EditedObject::of(&object, &members)));
        }
        // What a Service of others says is no part of what a plan is bound to.
        let edits = self.bundle.into_iter().flat_map(Bundle::edits);
        for (kind, key) in edits.filter_map(|(_, edit)| edit.service()) {
            if self.objects.contains_key(&key) {
                continue;
            }
            let found = cluster.get(call, &kind, &key).await?;
            let sighting =
                found.map(|object| (kind, Sighting { marks: None, ..Sighting::of(&object, None) }));
            self.objects.insert(key, sighting);
        }
        Ok(())
    }

    /// The objects that are wanted.
    fn wanted(&self) -> impl Iterator<Item = (&'a GroupVersionKind, &'a ObjectKey)> + use<'a> {
        let manifests = self.bundle.into_iter().flat_map(Bundle::manifests);
        manifests.map(|manifest| (manifest.kind(), manifest.key()))
    }

    /// Reads the objects of a kind that carry our owner's mark. A kind that the cluster lacks has none; of one that may
    /// not be listed, as by the engine, what is known is read by name.
    async fn list(
        &mut self,
        cluster: &dyn Cluster,
        call: &Call,
        kind: GroupVersionKind,
    ) -> Result<(), Error> {
        let selection = Selection { kind, owner: call.owner.clone() };
        let mut watch = match cluster.watch(call, &selection).await {
            Ok(watch) => watch,
            Err(Error::UnknownKind { .. } | Error::Forbidden { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        let proofs = self.proofs.as_ref();
        let proved = |mut object: Object| {
            object.disclaim_unproved(proofs);
            object.marks.is_some().then_some(object)
        };
        // As for the engine: what no proof shows to be ours is read by its name.
        let objects = listed(&mut watch, &selection.kind, proved).await?;
        objects.iter().for_each(|object| self.take(object));
        Ok(())
    }

    /// Reads one object that was not listed, where it may be looked at.
    async fn look(
        &mut self,
        cluster: &dyn Cluster,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
    ) -> Result<(), Error> {
        if self.objects.contains_key(key) || self.plan.is_closed(key) {
            return Ok(());
        }
        let found = match cluster.get(call, kind, key).await {
            Err(Error::UnknownKind { .. }) => None,
            other => other?,
        };
        match found {
            Some(mut object) => {
                object.disclaim_unproved(self.proofs.as_ref());
                self.take(&object);
            }
            None => {
                self.observed.absent(kind, key);
                self.objects.insert(key.clone(), None);
            }
        }
        Ok(())
    }

    /// Takes up an object, held against what is desired of it. Others of our owner's may be another app context's.
    fn take(&mut self, object: &Object) {
        let is_others = object.marks.as_ref().is_some_and(|marks| marks.context != self.place.context.id);
        let manifest = self.bundle.and_then(|bundle| bundle.manifest(&object.key));
        let concerns = manifest.is_some() || self.place.recorded.objects.contains_key(&object.key);
        if is_others && (!concerns || self.plan.is_closed(&object.key)) {
            return;
        }
        let manifest = manifest.filter(|_| !is_others).cloned();
        let desired = manifest.map(|manifest| Desired { manifest, labels: self.labels.clone() });
        self.observed.present(object, desired.as_ref());
        let sighting = Sighting::of(object, desired.as_ref());
        self.objects.insert(object.key.clone(), Some((object.kind.clone(), sighting)));
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
            sighting.marks.as_ref().is_some_and(|marks| marks.context == self.place.context.id)
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

    fn kept(&self, namespace: &str) -> Option<&Arc<str>> {
        self.place.recorded.kept.get(namespace)
    }

    fn edited(&self) -> &[Edited] {
        &self.place.recorded.edits
    }

    fn read(&self, object: &ObjectKey) -> Reading<'_> {
        Reading::of(self.texts.get(object))
    }

    fn answered(&self, request: &str) -> Option<Answered<'_>> {
        self.place.recorded.issued.get(request).map(|account| Answered::by(account.as_ref()))
    }
}
