//! The engine's own records, as they are stored.
//!
//! A root record is the commit point of a desired state: what it names was written before it. A lane record is changed
//! by one compare-and-swap, by the worker that owns the lane's shard.

pub(crate) mod path;
mod schema;

pub(crate) use schema::{SCHEMA, Schema, read};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::{
    Action, AppContext, Bundle, Drift, Existing, Generation, InvalidBundle, Request, Stage, Step,
};
use dcm_core::hash::ContentHash;
use dcm_core::manifest::{GroupVersionKind, Manifest, ObjectKey};
use dcm_core::name::{AppName, ClusterId, ContextId};
use dcm_core::plan::{Recorded, Records};
use dcm_core::port::cluster::{ClusterUid, Fence, Origin};
use dcm_core::port::synchronizer::{Issued, Removal};
use dcm_core::status::{Cause, Intent, LaneState};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Names one running engine; random, so that no two are ever the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkerId(Arc<str>);

impl WorkerId {
    /// From 64 random bits.
    #[must_use]
    pub fn from_random(bits: u64) -> Self {
        Self(format!("{bits:016x}").into())
    }

    /// From a record's path.
    pub(crate) fn of(text: &str) -> Self {
        Self(text.into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for WorkerId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The desired state of one app context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Root {
    pub schema: Schema,
    pub generation: Generation,
    /// Raised when somebody asks again for what is wanted already: lanes that are stuck try at once.
    pub attempt: u64,
    pub intent: Intent,
    pub paused: bool,
    /// How it is removed, as whoever removed it says.
    pub removal: Removal,
    /// How it is removed where that says nothing, as the app context says.
    #[serde(default)]
    pub removal_policy: Removal,
    /// Whatever clusters hold of generations up to this one, the store's state is true: a person has said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overrules: Option<Generation>,
    /// Its records are being deleted, this one last. Whoever wants the context again finishes that first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forgetting: bool,
    /// Nobody knows of it any more: the root stays until what was abandoned on clusters is cleared.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forgotten: bool,
    /// It was forgotten and came back: lanes of generations up to this one have no results, whatever their records say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_results: Option<Generation>,
    pub labels: Arc<BTreeMap<String, String>>,
    /// Namespaces that were wanted before and are not any more: claims on them are dropped by the worker that works on this
    /// generation of the lane, when it has cleared them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub leaving: BTreeMap<ClusterId, BTreeSet<Arc<str>>>,
    pub bundles: BTreeMap<ContentHash, Vec<StepRecord>>,
    /// By bundle, the clusters that are to hold it: a name per cluster, whatever the size of the bundle.
    pub placements: BTreeMap<ContentHash, Vec<ClusterId>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StepRecord {
    pub app: AppName,
    pub stage: Stage,
    #[serde(flatten)]
    pub action: ActionRecord,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ActionRecord {
    #[serde(rename_all = "camelCase")]
    Apply {
        manifest: ContentHash,
        #[serde(default)]
        existing: Existing,
        #[serde(default, skip_serializing_if = "Drift::is_default")]
        drift: Drift,
    },
    #[serde(rename_all = "camelCase")]
    Request { name: Arc<str>, request: Request },
}

/// Why stored steps don't make a bundle.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BundleError {
    #[error("manifest {0} is not stored")]
    ManifestMissing(ContentHash),
    #[error(transparent)]
    Invalid(#[from] InvalidBundle),
}

impl Root {
    /// The record of a context's desired state, without its manifests.
    pub(crate) fn of(context: &AppContext, generation: Generation) -> Self {
        let mut bundles = BTreeMap::new();
        let mut placements: BTreeMap<ContentHash, Vec<ClusterId>> = BTreeMap::new();
        for (cluster, bundle) in &context.placements {
            placements.entry(bundle.hash()).or_default().push(cluster.clone());
            bundles
                .entry(bundle.hash())
                .or_insert_with(|| bundle.steps().iter().map(StepRecord::of).collect());
        }
        Self {
            schema: SCHEMA,
            generation,
            attempt: 0,
            intent: Intent::Present,
            paused: false,
            removal: Removal::default(),
            removal_policy: context.removal,
            overrules: None,
            forgetting: false,
            forgotten: false,
            without_results: None,
            labels: Arc::new(context.labels.clone()),
            leaving: BTreeMap::new(),
            bundles,
            placements,
        }
    }

    /// The record of a context of which nothing was wanted yet: it has no generation, and gets none by a removal.
    pub(crate) fn unused(id: &ContextId) -> Self {
        let nothing = AppContext {
            id: id.clone(),
            labels: BTreeMap::new(),
            removal: Removal::default(),
            placements: BTreeMap::new(),
        };
        Self { intent: Intent::Absent, ..Self::of(&nothing, Generation::default()) }
    }

    /// True while nothing was wanted of its context yet.
    pub(crate) fn is_unused(&self) -> bool {
        self.generation == Generation::default()
    }

    /// True when both want the same of the same clusters.
    pub(crate) fn wants_the_same(&self, other: &Self) -> bool {
        self.intent == other.intent
            && self.removal_policy == other.removal_policy
            && self.labels == other.labels
            && self.bundles == other.bundles
            && self.placements == other.placements
    }

    /// How clusters are cleared that are to hold nothing of it.
    pub(crate) fn removal(&self) -> Removal {
        match self.intent {
            Intent::Present => self.removal_policy,
            Intent::Absent => self.removal.or(self.removal_policy),
        }
    }

    /// The bundle that a cluster is to hold; none when it is to hold nothing of this context.
    pub(crate) fn wanted(&self, cluster: &ClusterId) -> Option<ContentHash> {
        if self.intent == Intent::Absent { None } else { self.placed(cluster) }
    }

    /// The bundle that a cluster is named with, wanted or being removed.
    pub(crate) fn placed(&self, cluster: &ClusterId) -> Option<ContentHash> {
        let mut placements = self.placements.iter();
        placements.find(|(_, clusters)| clusters.binary_search(cluster).is_ok()).map(|(hash, _)| *hash)
    }

    /// The manifests that its bundles name.
    pub(crate) fn manifests(&self) -> impl Iterator<Item = ContentHash> {
        self.bundles.keys().flat_map(|bundle| self.manifests_of(bundle))
    }

    /// The manifests that one of its bundles names.
    pub(crate) fn manifests_of(&self, bundle: &ContentHash) -> impl Iterator<Item = ContentHash> {
        self.bundles.get(bundle).into_iter().flatten().filter_map(|step| match &step.action {
            ActionRecord::Apply { manifest, .. } => Some(*manifest),
            ActionRecord::Request { .. } => None,
        })
    }

    /// True while somebody waits until every worker has read this root, and has no request under way for an older one.
    pub(crate) fn waits_for_workers(&self) -> bool {
        self.paused || self.forgetting
    }

    /// True when claims on a lane's cluster are to be dropped: they are when the lane comes to its end for this root.
    pub(crate) fn is_leaving(&self, cluster: &ClusterId, lane: &Lane) -> bool {
        let has_ended = matches!(lane.state, LaneState::Done | LaneState::Removed);
        self.leaves(cluster) && !(has_ended && lane.generation >= self.generation)
    }

    /// True when claims on a cluster are to be dropped by a worker. Who forgets the context drops them by itself.
    pub(crate) fn leaves(&self, cluster: &ClusterId) -> bool {
        !self.forgetting && self.leaving.contains_key(cluster)
    }

    /// All clusters that are named, wanted or being removed.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = &ClusterId> {
        self.placements.values().flatten()
    }
}

impl StepRecord {
    fn of(step: &Step) -> Self {
        let action = match &step.action {
            Action::Apply { manifest, existing, drift } => {
                ActionRecord::Apply { manifest: manifest.hash(), existing: *existing, drift: drift.clone() }
            }
            Action::Request { name, request } => {
                ActionRecord::Request { name: name.clone(), request: request.clone() }
            }
        };
        Self { app: step.app.clone(), stage: step.stage, action }
    }
}

/// Puts stored steps and manifests together again.
pub(crate) fn bundle(
    steps: &[StepRecord],
    manifests: &BTreeMap<ContentHash, Manifest>,
) -> Result<Bundle, BundleError> {
    let steps = steps.iter().map(|step| {
        let action = match &step.action {
            ActionRecord::Apply { manifest, existing, drift } => Action::Apply {
                manifest: manifests.get(manifest).ok_or(BundleError::ManifestMissing(*manifest))?.clone(),
                existing: *existing,
                drift: drift.clone(),
            },
            ActionRecord::Request { name, request } => {
                Action::Request { name: name.clone(), request: request.clone() }
            }
        };
        Ok(Step { app: step.app.clone(), stage: step.stage, action })
    });
    Ok(Bundle::new(steps.collect::<Result<_, BundleError>>()?)?)
}

/// The engine's state for one (app context, cluster).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Lane {
    pub schema: Schema,
    pub state: LaneState,
    /// The bundle that `state` speaks of; none: removal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<ContentHash>,
    /// The generation whose work was begun last.
    pub generation: Generation,
    /// The root's attempt that was looked at last.
    #[serde(default)]
    pub attempt: u64,
    /// The root's attempt in which all namespaces were there last: a later one may make again what is gone.
    #[serde(default)]
    pub settled: u64,
    /// Fence of the worker that wrote this.
    pub fence: Fence,
    pub since: Timestamp,
    /// Kinds of what may have been made on the cluster: written before the first request that may make one. While
    /// empty, nothing of ours can be there.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub kinds: BTreeSet<GroupVersionKind>,
    /// Namespaces that the lane may have made, and so may hold claims for: named together with the kinds. When the lane
    /// ends, the claims on those that are not desired are dropped, and then their names.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub namespaces: BTreeSet<Arc<str>>,
    /// Until when a request that was lost may still make something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncertain_until: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", with = "objects")]
    pub objects: Records,
    /// Names of the requests that are answered; their results are stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issued: Vec<Arc<str>>,
    /// Requests whose results may be stored, though they are not answered, or are desired no more: named together with the
    /// kinds. Their results are deleted once this was stored in a state that drops them. Who finds that does it again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropping: Vec<Arc<str>>,
    /// Namespaces that were kept, with the number of objects of others in each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kept: BTreeMap<Arc<str>, usize>,
    /// A generation that the cluster was found to hold, and the store did not know of: nothing is written until a person
    /// has said whose state is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<Generation>,
    /// Answered requests may still be on the cluster: who finds this clears them away.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untidy: bool,
}

impl Lane {
    /// A lane to which nothing has happened.
    pub(crate) fn untouched(now: Timestamp) -> Self {
        Self {
            schema: SCHEMA,
            state: LaneState::Pending,
            bundle: None,
            generation: Generation::default(),
            attempt: 0,
            settled: 0,
            fence: Fence::default(),
            since: now,
            kinds: BTreeSet::new(),
            namespaces: BTreeSet::new(),
            uncertain_until: None,
            causes: Vec::new(),
            objects: Records::new(),
            issued: Vec::new(),
            dropping: Vec::new(),
            kept: BTreeMap::new(),
            ahead: None,
            untidy: false,
        }
    }

    /// True when a result of this request may be stored.
    pub(crate) fn may_have_result(&self, name: &Arc<str>) -> bool {
        self.issued.contains(name) || self.dropping.contains(name)
    }

    /// True in a state in which nothing takes the place of what is not desired any more.
    pub(crate) fn drops_results(&self) -> bool {
        matches!(self.state, LaneState::Done | LaneState::Removing | LaneState::Removed)
    }

    /// Forgets what was issued before the context was forgotten and came back.
    pub(crate) fn forget_results(&mut self, root: &Root) {
        if !self.has_results(root) {
            self.issued.clear();
        }
    }

    /// True when the results are stored that the lane says it has.
    pub(crate) fn has_results(&self, root: &Root) -> bool {
        Some(self.generation) > root.without_results
    }

    /// Takes the store's state as the truth over what the cluster was found to hold, when a person has said so: what is
    /// ours is then told by our marks, as what was recorded of it may be about objects that were replaced since.
    pub(crate) fn overrule(&mut self, root: &Root) -> bool {
        let is_overruled = self.ahead.is_some() && root.overrules >= self.ahead;
        if is_overruled {
            self.ahead = None;
            self.objects.values_mut().for_each(|record| record.uid = None);
        }
        is_overruled
    }

    /// True when the lane was given up, and nobody has asked for another try since. What was given up while the context
    /// itself stays is tried on and on; each change of the context would ask for it again.
    pub(crate) fn is_abandoned(&self, root: &Root) -> bool {
        let is_as_asked = self.attempt == root.attempt && self.generation == root.generation;
        self.state == LaneState::Abandoned && (root.intent == Intent::Present || is_as_asked)
    }

    /// The causes that an abandoned lane has, now that these are in its way. It is tried so often, and perhaps for so
    /// long, that only another kind of cause is news: no times, and nothing that changes with each try.
    pub(crate) fn lasting(&self, causes: Vec<Cause>) -> Vec<Cause> {
        let same = |(one, other): (&Cause, &Cause)| one.reason == other.reason && one.object == other.object;
        let is_same = causes.len() == self.causes.len() && self.causes.iter().zip(&causes).all(same);
        // While a try is under way, what was in the way before is not known to be gone.
        if is_same || causes.is_empty() {
            return self.causes.clone();
        }
        causes.into_iter().map(|cause| Cause { next_try: None, ..cause }).collect()
    }

    /// True when the lane is where it is to be.
    pub(crate) fn is_at(&self, wanted: Option<ContentHash>) -> bool {
        match wanted {
            Some(hash) => self.state == LaneState::Done && self.bundle == Some(hash),
            None => self.state == LaneState::Removed || self.kinds.is_empty(),
        }
    }
}

/// A recorded object as it is stored: a list reads better than a map with composite keys.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectRecord {
    version: Arc<str>,
    #[serde(flatten)]
    key: ObjectKey,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uid: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    manifest: Option<ContentHash>,
    #[serde(default, skip_serializing_if = "is_created")]
    origin: Origin,
    stage: Stage,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_created(origin: &Origin) -> bool {
    *origin == Origin::Created
}

mod objects {
    use super::*;
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(records: &Records, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(records.iter().map(|(key, record)| ObjectRecord {
            version: record.kind.version.clone(),
            key: key.clone(),
            uid: record.uid.clone(),
            manifest: record.manifest,
            origin: record.origin,
            stage: record.stage,
        }))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Records, D::Error> {
        let list = Vec::<ObjectRecord>::deserialize(deserializer)?;
        Ok(list.into_iter().map(restore).collect())
    }

    fn restore(record: ObjectRecord) -> (ObjectKey, Recorded) {
        let (group, kind) = (record.key.group.clone(), record.key.kind.clone());
        let kind = GroupVersionKind::of_parts(group, record.version, kind);
        let recorded = Recorded {
            kind,
            uid: record.uid,
            manifest: record.manifest,
            origin: record.origin,
            stage: record.stage,
        };
        (record.key, recorded)
    }
}

/// What a cluster issued for a request.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Outcome {
    pub schema: Schema,
    pub name: Arc<str>,
    pub issued: Issued,
}

/// Who a cluster's namespace belongs to.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Claim {
    pub schema: Schema,
    pub context: ContextId,
    /// The generation that asked for it: whoever clears away an earlier one leaves it.
    #[serde(default)]
    pub generation: Generation,
}

/// Namespaces that an apply is about to claim, by cluster: written before the claims where those are not written together
/// with the root, and deleted after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Claiming {
    pub schema: Schema,
    pub namespaces: BTreeMap<ClusterId, BTreeSet<Arc<str>>>,
}

/// How far the generations of app contexts went that are forgotten. Whoever makes one of the same name goes on from there:
/// what an earlier one of its name still does is told by its earlier generation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Forgotten {
    pub schema: Schema,
    pub generation: Generation,
}

/// Who owns a cluster with all its lanes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Shard {
    pub schema: Schema,
    /// The owning worker's session; none when it was given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<WorkerId>,
    pub fence: Fence,
    /// What the cluster said it is when it was first seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<ClusterUid>,
    /// Somebody has paused the work on it. Whoever owns it next sees that, as it changes this record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
}

/// How far the work on a cluster is paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pause {
    /// It was asked for: the owner may have requests under way.
    Asked,
    /// The owner has no request under way, and begins none.
    Quiet,
}

/// The session of a running worker. It lives as long as it changes; whoever sees it unchanged for the length of a
/// lease deletes it, and with it the worker's right to its shards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Worker {
    pub schema: Schema,
    pub beat: u64,
    /// When it was written, by the worker's own clock: for people. Leases don't rely on it.
    pub at: Timestamp,
    /// The worker takes every shard, not only those that its own caller waits for.
    pub serves: bool,
    /// How long the session lives unchanged, in milliseconds.
    pub lease_ms: u64,
    /// Paused app contexts of which the worker has no request under way, with the version of the root that it has seen.
    /// Told for a while: who waits for it hears of it then.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub quiet: BTreeMap<ContextId, u64>,
}

#[cfg(test)]
mod tests {
    use dcm_core::secret::Secret;
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn what_a_cluster_issued_is_not_shown() {
        let token = Secret::new("hunter2");
        let issued = Issued::Token { token, expires: Timestamp::UNIX_EPOCH, received: None };
        let outcome = Outcome { schema: SCHEMA, name: "token/ci".into(), issued };
        assert!(serde_json::to_string(&outcome).unwrap().contains(r#"{"$secret":"hunter2"}"#));
        assert!(!format!("{outcome:?} {outcome:#?}").contains("hunter2"));
    }
}
