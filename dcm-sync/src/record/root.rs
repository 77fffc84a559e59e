//! What is desired of an app context, as it is stored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::{AppContext, Generation};
use dcm_core::hash::ContentHash;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::synchronizer::Removal;
use dcm_core::status::{Intent, LaneState};
use serde::{Deserialize, Serialize};

use super::{Forgotten, Lane, Placements, Planned, SCHEMA, Schema, StepRecord};

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
    pub placements: Placements,
}

impl Root {
    /// The record of a context's desired state, without its manifests.
    pub(crate) fn of(context: &AppContext, generation: Generation) -> Self {
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
            placements: Placements::of(context),
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
        self.placements.of_cluster(cluster)
    }

    /// The steps of the bundle that a cluster is to hold.
    pub(crate) fn steps(&self, cluster: &ClusterId) -> &[StepRecord] {
        self.wanted(cluster).map_or(&[], |bundle| self.placements.steps_of(&bundle))
    }

    /// The manifests that its bundles name.
    pub(crate) fn manifests(&self) -> impl Iterator<Item = ContentHash> {
        self.placements.bundles().flat_map(|(_, placed)| placed.manifests())
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
        self.placements.clusters()
    }

    /// The same, and the clusters that only claims are left of.
    pub(crate) fn concerned(&self) -> impl Iterator<Item = &ClusterId> {
        self.clusters().chain(self.leaving.keys())
    }
}
