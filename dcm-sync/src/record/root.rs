//! What is desired of an app context, as it is stored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::{
    Action, AppContext, Bundle, Drift, Edit, Existing, Generation, InvalidBundle, Request, Stage, Step,
};
use dcm_core::hash::ContentHash;
use dcm_core::manifest::Manifest;
use dcm_core::name::{AppName, ClusterId, ContextId};
use dcm_core::port::synchronizer::Removal;
use dcm_core::status::{Intent, LaneState};
use serde::{Deserialize, Serialize};

use super::{Forgotten, Lane, Planned, SCHEMA, Schema};

/// The desired state of one app context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Root {
    pub schema: Schema,
    pub generation: Generation,
    /// Its first generation: a context that was forgotten and is wanted again begins with another one.
    pub begun: Generation,
    /// Raised by each apply, and by each command that asks for another look: every cluster is looked at again, and stuck lanes retry at
    /// once.
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
    /// The last generation that takes rights away which are to go soon, also from clusters that hold later generations than
    /// the store knows of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdraws: Option<Generation>,
    #[serde(default, skip_serializing_if = "Planned::is_empty")]
    pub planned: Planned,
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
    Edit { edit: Edit },
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
            bundles.entry(bundle.hash()).or_insert_with(|| StepRecord::all(bundle));
        }
        Self {
            schema: SCHEMA,
            generation,
            begun: generation,
            attempt: 0,
            intent: Intent::Present,
            paused: false,
            removal: Removal::default(),
            removal_policy: context.removal,
            overrules: None,
            withdraws: None,
            planned: Planned::default(),
            forgetting: false,
            forgotten: false,
            without_results: None,
            labels: Arc::new(context.labels.clone()),
            leaving: BTreeMap::new(),
            bundles,
            placements,
        }
    }

    /// The record of a context of which nothing was wanted yet: it has no generation, and gets none by a removal. Its other
    /// numbers go on from those of the forgotten ones.
    pub(crate) fn unused(id: &ContextId, forgotten: &Forgotten) -> Self {
        let nothing = AppContext {
            id: id.clone(),
            labels: BTreeMap::new(),
            removal: Removal::default(),
            placements: BTreeMap::new(),
        };
        Self {
            attempt: forgotten.attempt,
            intent: Intent::Absent,
            planned: Planned { number: forgotten.planned, ..Planned::default() },
            ..Self::of(&nothing, Generation::default())
        }
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
            ActionRecord::Edit { .. } | ActionRecord::Request { .. } => None,
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

    /// Begins another attempt if the context is wanted; returns whether it did.
    pub(crate) fn ask_again(&mut self) -> bool {
        let is_wanted = self.intent == Intent::Present;
        self.attempt += u64::from(is_wanted);
        is_wanted
    }

    /// All clusters that are named, wanted or being removed.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = &ClusterId> {
        self.placements.values().flatten()
    }

    /// The same, and the clusters that only claims are left of.
    pub(crate) fn concerned(&self) -> impl Iterator<Item = &ClusterId> {
        self.clusters().chain(self.leaving.keys())
    }
}

impl StepRecord {
    /// The steps of a bundle.
    pub(crate) fn all(bundle: &Bundle) -> Vec<Self> {
        bundle.steps().iter().map(Self::of).collect()
    }

    fn of(step: &Step) -> Self {
        let action = match &step.action {
            Action::Apply { manifest, existing, drift } => {
                ActionRecord::Apply { manifest: manifest.hash(), existing: *existing, drift: drift.clone() }
            }
            Action::Edit { edit } => ActionRecord::Edit { edit: edit.clone() },
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
            ActionRecord::Edit { edit } => Action::Edit { edit: edit.clone() },
            ActionRecord::Request { name, request } => {
                Action::Request { name: name.clone(), request: request.clone() }
            }
        };
        Ok(Step { app: step.app.clone(), stage: step.stage, action })
    });
    Ok(Bundle::new(steps.collect::<Result<_, BundleError>>()?)?)
}
