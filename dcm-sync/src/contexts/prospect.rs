//! What the engine would go by when an app context is applied: for plans, which ask before anything is written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::{AppContext, Edited, Generation};
use dcm_core::manifest::GroupVersionKind;
use dcm_core::name::ClusterId;
use dcm_core::plan::Records;
use dcm_core::port::cluster::ClusterUid;
use dcm_core::port::proof::ProofKey;
use dcm_core::port::store::StoreExt as _;
use dcm_core::port::synchronizer::Error;
use dcm_core::status::Intent;

use super::{Contexts, writing};
use crate::record::{self, ActionRecord, Lane, Root, StepRecord, path};

/// What the engine would go by when an app context is applied now.
#[derive(Debug, Clone)]
pub struct Prospect {
    /// The generation that would be worked on.
    pub generation: Generation,
    /// Each cluster that is to hold it, or may hold something of it.
    pub clusters: BTreeMap<ClusterId, LaneProspect>,
    /// What proves the marks on objects; none while no engine has run on the store.
    pub proofs: Option<ProofKey>,
}

/// What is recorded of one cluster.
#[derive(Debug, Clone, Default)]
pub struct LaneProspect {
    /// The objects that were written for this app context.
    pub objects: Records,
    /// The edits of objects of other clients that may have been written.
    pub edits: Vec<Edited>,
    /// The kinds of which some may have been made.
    pub kinds: BTreeSet<GroupVersionKind>,
    /// The requests that are answered, with the UID of the ServiceAccount that a token is bound to.
    pub issued: BTreeMap<Arc<str>, Option<Arc<str>>>,
    /// The namespaces that stayed when the app context was removed, as others had objects in them, with their UIDs.
    pub kept: BTreeMap<Arc<str>, Arc<str>>,
    /// A generation that the cluster was found to hold, and the store does not know of.
    pub ahead: Option<Generation>,
    /// What the cluster said that it is when a worker first reached it.
    pub identity: Option<ClusterUid>,
}

impl Contexts {
    /// What the engine would go by if this app context were applied now. Writes nothing.
    ///
    /// The requests in it may be without what is asked for: a credential is told by its name.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn prospect(&self, context: &AppContext) -> Result<Prospect, Error> {
        let found = self.root(&context.id).await?;
        let current = match found {
            Some((root, _)) => root,
            None => self.unused_root(&context.id).await?,
        };
        let next = writing::next_root(context, &current, self.next_generation(&current).await?);
        let unchanged = wants_the_same(&current, &next).then_some(&current);
        let mut lanes = BTreeMap::new();
        for entry in self.store.list_all(&path::lanes(&context.id)).await? {
            let Some(cluster) = path::cluster_of(&entry.path) else { continue };
            let mut lane: Lane = record::read(&entry)?;
            lane.overrule(&current);
            lane.forget_results(&current);
            lanes.insert(cluster, lane);
        }
        let mut clusters: BTreeMap<ClusterId, LaneProspect> =
            context.placements.keys().map(|cluster| (cluster.clone(), LaneProspect::default())).collect();
        for (cluster, lane) in lanes {
            if context.placements.contains_key(&cluster) || !lane.is_at(None) {
                clusters.insert(cluster, LaneProspect::of(lane));
            }
        }
        for (cluster, found) in &mut clusters {
            found.identity = self.cluster_uid(cluster).await?;
        }
        let generation = unchanged.map_or(next.generation, |root| root.generation);
        Ok(Prospect { generation, clusters, proofs: self.proof_key().await? })
    }
}

impl LaneProspect {
    fn of(lane: Lane) -> Self {
        Self {
            objects: lane.objects,
            edits: lane.edits,
            kinds: lane.kinds,
            issued: lane.issued.into_iter().map(|answer| (answer.name, answer.account)).collect(),
            kept: lane.kept.into_iter().filter_map(|(name, kept)| Some((name, kept.uid?))).collect(),
            ahead: lane.ahead,
            identity: None,
        }
    }
}

/// True when both want the same of the same clusters, whatever the requests for certificates are made of: those have
/// the same name only when they are the same.
fn wants_the_same(current: &Root, next: &Root) -> bool {
    let mut alike = BTreeMap::new();
    let mut same = |cluster: &ClusterId| match (current.placed(cluster), next.placed(cluster)) {
        (Some(mine), Some(theirs)) if mine != theirs => *alike.entry((mine, theirs)).or_insert_with(|| {
            plan_alike(current.placements.steps_of(&mine), next.placements.steps_of(&theirs))
        }),
        (mine, theirs) => mine == theirs,
    };
    current.intent == Intent::Present
        && current.removal_policy == next.removal_policy
        && current.labels == next.labels
        && current.clusters().eq(next.clusters())
        && next.clusters().all(&mut same)
}

fn plan_alike(mine: &[StepRecord], theirs: &[StepRecord]) -> bool {
    mine.iter().map(as_planned).eq(theirs.iter().map(as_planned))
}

fn as_planned(step: &StepRecord) -> StepRecord {
    let mut step = step.clone();
    if let ActionRecord::Request { request, .. } = &mut step.action {
        *request = request.as_planned();
    }
    step
}
