//! What records say of clusters.

use std::sync::Arc;
use std::time::Duration;

use dcm_core::app_context::Request;
use dcm_core::manifest::ObjectKey;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::plan::Recorded;
use dcm_core::port::cluster::Object;
use dcm_core::port::store::Write;
use dcm_core::status::LaneState;

use super::{Scene, objects, root, wanted};
use crate::record::{ActionRecord, Lane, path};
use crate::simulation::events::Event;

/// How long what somebody else did may be unknown to us: the way there, and a watch that is late.
const UNAWARE: Duration = Duration::from_secs(60);

/// When a lane's record says that it is done, what it names is there; when it says that it is removed, nothing is.
pub(super) fn a_status_claims_only_what_is(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Some((cluster, context, lane)) = stored_lane(event) else { return Ok(()) };
    match lane.state {
        LaneState::Done => everything_is_there(scene, &cluster, &context, &lane),
        LaneState::Removed => nothing_is_there(scene, &cluster, &context),
        _ => Ok(()),
    }
}

/// When a lane's record says that it is done, since somebody asked last, what was not there by then is there.
pub(super) fn what_is_reported_as_applied_was_seen(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Some((cluster, context, lane)) = stored_lane(event) else { return Ok(()) };
    let Some(asked) = scene.facts.asked(&context, lane.attempt) else { return Ok(()) };
    let wanted = root(scene, &context).and_then(|root| wanted(&lane, &root)).unwrap_or_default();
    if lane.state != LaneState::Done {
        return Ok(());
    }
    let objects = objects(scene, &cluster);
    for (key, record) in &lane.objects {
        let is_wanted = record.manifest.is_some_and(|hash| wanted.contains(&hash));
        let is_told = lane.causes.iter().any(|cause| cause.object.as_ref() == Some(key));
        // What somebody did since may have come after the look.
        let is_older = scene.meddled.last(&cluster, key).is_some_and(|last| last < asked);
        if is_wanted && is_older && !is_told {
            is_as_recorded(&objects, &cluster, key, record)?;
        }
    }
    Ok(())
}

/// The lane that a record is of which was stored, and the record.
fn stored_lane(event: &Event) -> Option<(ClusterId, ContextId, Lane)> {
    let Event::Stored(Write::Create { path, document } | Write::Update { path, document, .. }) = event else {
        return None;
    };
    let context = path::context_of_lane(path)?;
    Some((path::cluster_of(path)?, context, document.read().ok()?))
}

fn everything_is_there(
    scene: &Scene<'_>,
    cluster: &ClusterId,
    context: &ContextId,
    lane: &Lane,
) -> Result<(), String> {
    let objects = objects(scene, cluster);
    let wanted = root(scene, context).and_then(|root| wanted(lane, &root)).unwrap_or_default();
    for (key, record) in &lane.objects {
        let is_wanted = record.manifest.is_some_and(|hash| wanted.contains(&hash));
        if is_wanted && !is_excused(scene, cluster, lane, key) {
            is_as_recorded(&objects, cluster, key, record)?;
        }
    }
    everything_is_recorded(scene, cluster, context, lane)?;
    let stored = scene.world.store().documents(&path::results_on(context, cluster));
    let is_stored = |name: &str| {
        let path = path::result(context, cluster, name);
        stored.iter().any(|entry| entry.path == path)
    };
    // Of a context that was forgotten and came back, a lane's answers count no more (`Lane::has_results`): no status tells them.
    let has_results = root(scene, context).is_none_or(|root| lane.has_results(&root));
    match lane.issued.iter().map(|answer| &answer.name).find(|name| has_results && !is_stored(name)) {
        Some(name) => {
            Err(format!("{name} of {context} on {cluster} is said to be answered, and is not stored"))
        }
        None => Ok(()),
    }
}

/// True when the record tells what is the matter with an object, or can't know it yet.
fn is_excused(scene: &Scene<'_>, cluster: &ClusterId, lane: &Lane, key: &ObjectKey) -> bool {
    let is_told = lane.causes.iter().any(|cause| cause.object.as_ref() == Some(key));
    is_told || is_disturbed(scene, cluster, key)
}

fn is_as_recorded(
    objects: &[Object],
    cluster: &ClusterId,
    key: &ObjectKey,
    record: &Recorded,
) -> Result<(), String> {
    let found = objects.iter().find(|object| object.key == *key);
    let is_so = found.is_some_and(|object| {
        let marks = object.marks.as_ref();
        Some(&object.uid) == record.uid.as_ref()
            && marks.is_some_and(|marks| marks.manifest == record.manifest)
    });
    if is_so {
        return Ok(());
    }
    Err(format!("{key} on {cluster} is not as the record says that it is: {found:?}"))
}

/// All that the lane's generation wants is named in its record: each object, and each request's answer.
fn everything_is_recorded(
    scene: &Scene<'_>,
    cluster: &ClusterId,
    context: &ContextId,
    lane: &Lane,
) -> Result<(), String> {
    let root = scene.facts.root(context, lane.generation);
    let steps = root.zip(lane.bundle).map(|(root, bundle)| root.placements.steps_of(&bundle));
    for step in steps.into_iter().flatten() {
        match &step.action {
            ActionRecord::Apply { manifest, .. } => {
                let Some(key) = scene.facts.key(manifest) else { continue };
                let recorded = lane.objects.get(key).and_then(|record| record.manifest);
                if recorded != Some(*manifest) && !is_excused(scene, cluster, lane, key) {
                    return Err(format!("{key} on {cluster} is wanted, and the record does not name it"));
                }
            }
            ActionRecord::Request { name, .. } if !lane.is_answered(name) => {
                return Err(format!("{name} of {context} on {cluster} is said to be done, and not answered"));
            }
            ActionRecord::Request { name, request: Request::Token(request) } => {
                is_of_the_account(scene, cluster, lane, name, &request.account())?;
            }
            ActionRecord::Edit { edit } => {
                if !lane.edits.iter().any(|edited| edited.target == edit.target)
                    && !is_excused(scene, cluster, lane, &edit.target.key())
                {
                    return Err(format!(
                        "the edit of {} on {cluster} is wanted, and the record does not name it",
                        edit.target.key()
                    ));
                }
            }
            ActionRecord::Request { request: Request::Certificate(_), .. } => {}
        }
    }
    Ok(())
}

/// A token is of the account that is recorded: of one that was replaced no cluster accepts one.
fn is_of_the_account(
    scene: &Scene<'_>,
    cluster: &ClusterId,
    lane: &Lane,
    name: &Arc<str>,
    account: &ObjectKey,
) -> Result<(), String> {
    let bound =
        lane.issued.iter().find(|answer| answer.name == *name).and_then(|answer| answer.account.as_ref());
    let recorded = lane.objects.get(account).and_then(|record| record.uid.as_ref());
    if bound == recorded || is_excused(scene, cluster, lane, account) {
        return Ok(());
    }
    Err(format!("{name} on {cluster} is of the account {bound:?}, and {account} is {recorded:?}"))
}

fn nothing_is_there(scene: &Scene<'_>, cluster: &ClusterId, context: &ContextId) -> Result<(), String> {
    let left = objects(scene, cluster).into_iter().find(|object| {
        object.marks.as_ref().is_some_and(|marks| marks.context == *context)
            && !is_disturbed(scene, cluster, &object.key)
            && !is_revived(scene, cluster, object)
            && scene.facts.object(cluster, &object.uid).is_some()
    });
    match left {
        Some(object) => Err(format!("{} is on {cluster}, and the record says that nothing is", object.key)),
        None => Ok(()),
    }
}

/// True when somebody else did something of which the engine need not know yet.
pub(super) fn is_disturbed(scene: &Scene<'_>, cluster: &ClusterId, key: &ObjectKey) -> bool {
    scene.meddled.known_since(cluster, key).is_some_and(|since| scene.world.now() <= since + UNAWARE)
}

/// True for what a cluster has again that lost its last writes: nobody may be looking for its kind any more.
fn is_revived(scene: &Scene<'_>, cluster: &ClusterId, object: &Object) -> bool {
    let known = scene.facts.object(cluster, &object.uid);
    // What was under way then comes after it, and finds what it was sent for gone.
    scene.meddled.lost(cluster).is_some_and(|lost| known.is_none_or(|known| known.since <= lost + UNAWARE))
}
