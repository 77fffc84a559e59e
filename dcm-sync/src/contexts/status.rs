//! Status trees, from records alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::Stage;
use dcm_core::manifest::ObjectKey;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::cluster::{CONTENTS_SAMPLE_MAX, Origin};
use dcm_core::port::store::{Change, Prefix};
use dcm_core::port::synchronizer::{Error, StatusStream, Synchronizer as _};
use dcm_core::status::{
    Cause, ContextStatus, Intent, LaneState, LaneStatus, ObjectState, ObjectStatus, Progress, Reason,
    RequestState, RequestStatus,
};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};

use super::Contexts;
use crate::record::{ActionRecord, Kept, Lane, Root, path};

/// The status of a context of which no lane was looked at yet.
pub(super) fn of_root(id: &ContextId, root: &Root) -> ContextStatus {
    ContextStatus {
        id: id.clone(),
        generation: root.generation,
        intent: root.intent,
        paused: root.paused,
        progress: Progress::Done,
        lanes: BTreeMap::new(),
    }
}

/// How far a context is with one more lane: as far as the lane with the most work left.
pub(super) fn progress_with(
    progress: Progress,
    root: &Root,
    cluster: &ClusterId,
    lane: Option<&Lane>,
) -> Progress {
    match (progress, progress_of(root, cluster, lane)) {
        (Progress::Working, _) | (_, Progress::Working) => Progress::Working,
        (Progress::Stuck, _) | (_, Progress::Stuck) => Progress::Stuck,
        (Progress::Done, Progress::Done) => Progress::Done,
    }
}

/// How far one lane is.
pub(super) fn progress_of(root: &Root, cluster: &ClusterId, lane: Option<&Lane>) -> Progress {
    let wanted = root.wanted(cluster);
    let is_given_up = |lane: &Lane| wanted.is_none() && lane.is_abandoned(root);
    let is_over =
        |lane: &Lane| is_given_up(lane) || (lane.is_seen_at(wanted, root) && !root.is_leaving(cluster, lane));
    // Where no worker came, there are only claims; of a context that goes they go with it.
    let is_untouched = wanted.is_none() && (root.intent == Intent::Absent || !root.leaves(cluster));
    if lane.map_or(is_untouched, is_over) {
        return Progress::Done;
    }
    let looked_at = lane.filter(|lane| lane.attempt == root.attempt && lane.generation == root.generation);
    if looked_at.is_some_and(Lane::needs_somebody) { Progress::Stuck } else { Progress::Working }
}

/// A lane's status; none for a cluster that was removed and holds nothing that was kept.
pub(super) fn of_lane(root: &Root, cluster: &ClusterId, lane: Option<&Lane>) -> Option<LaneStatus> {
    let wanted = root.wanted(cluster);
    let lane = match lane {
        Some(lane) => lane,
        None => &Lane::untouched(jiff::Timestamp::UNIX_EPOCH),
    };
    let finished = lane.is_seen_at(wanted, root);
    if wanted.is_none() && finished && lane.kept.is_empty() && root.placed(cluster).is_none() {
        return None;
    }
    let observed_generation = if finished { root.generation } else { lane.generation };
    let mut cause = lane.causes.first().cloned();
    if root.paused && !finished {
        cause = Some(paused());
    }
    Some(LaneStatus {
        observed_generation,
        state: state(root, lane, wanted.is_some(), finished),
        since: lane.since,
        seen: lane.seen.filter(|_| wanted.is_some()),
        cause,
        objects: objects(root, cluster, lane),
        requests: requests(root, cluster, lane),
    })
}

fn paused() -> Cause {
    Cause::new(Reason::Paused, "work is paused")
}

fn state(root: &Root, lane: &Lane, wanted: bool, finished: bool) -> LaneState {
    match (wanted, finished) {
        (true, true) => LaneState::Done,
        (true, false) if lane.generation == root.generation && lane.state == LaneState::Working => {
            LaneState::Working
        }
        (true, false) => LaneState::Pending,
        (false, true) => LaneState::Removed,
        (false, false) if lane.is_abandoned(root) => LaneState::Abandoned,
        (false, false) => LaneState::Removing,
    }
}

/// Desired objects can only be named by their records here: manifests are not read for a status.
fn objects(root: &Root, cluster: &ClusterId, lane: &Lane) -> Vec<ObjectStatus> {
    let wanted: BTreeSet<_> = root
        .steps(cluster)
        .iter()
        .filter_map(|step| match &step.action {
            ActionRecord::Apply { manifest, .. } => Some(*manifest),
            ActionRecord::Edit { .. } | ActionRecord::Request { .. } => None,
        })
        .collect();
    let mut records: Vec<_> = lane.objects.iter().collect();
    records.sort_by_key(|(_, record)| record.stage);
    let mut statuses: Vec<ObjectStatus> = records
        .into_iter()
        .map(|(key, record)| {
            let cause = cause_of(lane, key);
            let is_drifted = cause.as_ref().is_some_and(|cause| cause.reason.is_drift());
            let is_wanted = record.manifest.is_some_and(|hash| wanted.contains(&hash));
            let current = is_wanted && record.uid.is_some() && !is_known_to_be_gone(lane, key);
            let state = match (current, record.origin) {
                (true, _) if is_drifted => ObjectState::Drifted,
                (true, Origin::Created) => ObjectState::Applied,
                (true, Origin::Adopted) => ObjectState::Adopted,
                // What is still recorded then carries our marks, and is another object.
                (false, _) if lane.state == LaneState::Removed => ObjectState::Kept,
                (false, _) if root.wanted(cluster).is_none() => ObjectState::Removing,
                (false, _) => ObjectState::Pending,
            };
            ObjectStatus { key: key.clone(), state, cause, bindings: Vec::new() }
        })
        .collect();
    statuses.extend(edited(root, cluster, lane));
    statuses.extend(unrecorded(lane));
    if root.wanted(cluster).is_none() {
        statuses.extend(lane.kept.iter().map(|(name, held)| kept(name, held)));
    }
    statuses
}

/// True for an object that is recorded and not there: its namespace is gone, or the name leads to no cluster of its own any more.
fn is_known_to_be_gone(lane: &Lane, key: &ObjectKey) -> bool {
    lane.causes.iter().any(|cause| match (cause.reason, &cause.object) {
        (Reason::ClusterChanged | Reason::SameCluster, _) => true,
        (Reason::NamespaceGone, Some(gone)) => gone == key || key.namespace.as_ref() == Some(&gone.name),
        _ => false,
    })
}

/// The objects of other clients of which a part is edited, where nothing is in the way.
fn edited(root: &Root, cluster: &ClusterId, lane: &Lane) -> Vec<ObjectStatus> {
    let wanted: BTreeSet<_> = root
        .steps(cluster)
        .iter()
        .filter_map(|step| match &step.action {
            ActionRecord::Edit { edit } => Some(&edit.target),
            ActionRecord::Apply { .. } | ActionRecord::Request { .. } => None,
        })
        .collect();
    let mut keys: BTreeMap<ObjectKey, bool> = BTreeMap::new();
    for edited in &lane.edits {
        let is_done = wanted.contains(&edited.target) && edited.is_settled();
        *keys.entry(edited.target.key()).or_insert(true) &= is_done;
    }
    let status = |(key, is_done): (ObjectKey, bool)| {
        let state = match is_done {
            true => ObjectState::Edited,
            false if root.wanted(cluster).is_none() => ObjectState::Removing,
            false => ObjectState::Pending,
        };
        ObjectStatus { key, state, cause: None, bindings: Vec::new() }
    };
    keys.into_iter().filter(|(key, _)| cause_of(lane, key).is_none()).map(status).collect()
}

/// Objects that are not recorded and have a cause: what they wait for is the news.
fn unrecorded(lane: &Lane) -> impl Iterator<Item = ObjectStatus> {
    lane.causes.iter().filter_map(|cause| {
        let key = cause.object.as_ref().filter(|key| !lane.objects.contains_key(*key))?;
        let (state, cause) = (ObjectState::Pending, Some(cause.clone()));
        Some(ObjectStatus { key: key.clone(), state, cause, bindings: Vec::new() })
    })
}

fn kept(name: &Arc<str>, Kept { objects, bindings, .. }: &Kept) -> ObjectStatus {
    let key = ObjectKey::new("".into(), "Namespace".into(), None, name.clone());
    let mut message = match objects {
        0 => "kept".to_owned(),
        objects => format!("kept: it holds {objects} objects of others"),
    };
    if !bindings.is_empty() {
        message.push_str(&format!("; these RoleBindings still give rights: {}", bindings.join(", ")));
    }
    if bindings.len() == CONTENTS_SAMPLE_MAX {
        message.push_str(", and maybe more");
    }
    let cause = Cause::new(Reason::HasContents, message);
    ObjectStatus { key, state: ObjectState::Kept, cause: Some(cause), bindings: bindings.clone() }
}

fn cause_of(lane: &Lane, key: &ObjectKey) -> Option<Cause> {
    lane.causes.iter().find(|cause| cause.object.as_ref() == Some(key)).cloned()
}

fn requests(root: &Root, cluster: &ClusterId, lane: &Lane) -> Vec<RequestStatus> {
    let requests = root.steps(cluster).iter().filter_map(|step| match &step.action {
        ActionRecord::Request { name, request } => Some((name, request.object(), step.stage)),
        ActionRecord::Apply { .. } | ActionRecord::Edit { .. } => None,
    });
    let requests: Vec<_> = requests.collect();
    let keys: BTreeSet<&ObjectKey> = requests.iter().map(|(_, key, _)| key).collect();
    let status = |(name, key, stage): &(&Arc<str>, ObjectKey, Stage)| {
        if lane.is_answered(name) && lane.has_results(root) {
            return RequestStatus {
                name: (*name).clone(),
                object: key.clone(),
                state: RequestState::Issued,
                cause: None,
            };
        }
        let hinders = |cause: &&Cause| match &cause.object {
            _ if cause.reason.is_drift() => false,
            None => true,
            Some(other) if keys.contains(other) => false,
            // What waits in the request's own stage does not hinder it. Of what is not recorded the stage isn't known.
            Some(other) => lane.objects.get(other).is_none_or(|record| record.stage < *stage),
        };
        let cause = match root.paused {
            true => Some(paused()),
            false => cause_of(lane, key)
                .or_else(|| lane.causes.iter().find(hinders).cloned())
                .or_else(|| lane.lapsed.contains(name).then(lapsed)),
        };
        RequestStatus { name: (*name).clone(), object: key.clone(), state: RequestState::Pending, cause }
    };
    requests.iter().map(status).collect()
}

fn lapsed() -> Cause {
    let message = "the cluster no longer accepts the credential that it issued: the service account, or what signs credentials, \
                   was replaced; a new one is requested";
    Cause::new(Reason::Lapsed, message)
}

/// Follows a context: a status now, and one after each change of its root or lanes. Changes that come while a status
/// is read are joined. A watch that was lost is taken up again; ends when the context is gone.
pub(super) async fn follow(contexts: Contexts, id: ContextId) -> Result<StatusStream, Error> {
    let batches = Some(changes(&contexts, &id).await?);
    let following = Following { contexts, id, batches };
    let next = |mut following: Following| async move {
        let status = following.next().await.transpose()?;
        Some((status, following))
    };
    Ok(stream::unfold(following, next).boxed())
}

struct Following {
    contexts: Contexts,
    id: ContextId,
    /// None once the watch was lost.
    batches: Option<BoxStream<'static, Vec<Change>>>,
}

impl Following {
    async fn next(&mut self) -> Result<Option<ContextStatus>, Error> {
        let mut batches = match self.batches.take() {
            Some(batches) => batches,
            // Its first batch stands for all that was missed.
            None => changes(&self.contexts, &self.id).await?,
        };
        if let Some(batch) = batches.next().await
            && !batch.contains(&Change::Lost)
        {
            self.batches = Some(batches);
        }
        self.contexts.status(&self.id).await
    }
}

/// The changes of a context's root and lanes, those together that came together; the first are none, for what is
/// there already.
pub(super) async fn changes(
    contexts: &Contexts,
    id: &ContextId,
) -> Result<BoxStream<'static, Vec<Change>>, Error> {
    let root_folder = Prefix::below(&path::context_folder(id));
    let roots = contexts.store.watch(&root_folder).await?;
    let lanes = contexts.store.watch(&path::lanes(id)).await?;
    let changes = stream::select(roots, lanes).ready_chunks(CHANGES_JOINED_MAX);
    Ok(stream::iter([Vec::new()]).chain(changes).boxed())
}

/// How many changes one status may answer at most.
const CHANGES_JOINED_MAX: usize = 1024;
