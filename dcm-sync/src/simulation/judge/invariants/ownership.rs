//! Whose objects are touched.

use std::sync::Arc;
use std::time::Duration;

use dcm_core::app_context::Existing;
use dcm_core::manifest::ObjectKey;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::cluster::{Object, Origin};
use dcm_core::port::synchronizer::Disposal;

use super::{Scene, handled, lane, objects};
use crate::record::{ActionRecord, Root};
use crate::sim::Verb;
use crate::simulation::events::{Deed, Event, Handled, Written};
use crate::simulation::meddling::INTRUDER;

/// How long it may take from counting a namespace's contents to its deletion.
const COUNTED: Duration = Duration::from_secs(120);

/// A deletion hits objects that the engine made, and none that it adopted.
pub(super) fn only_what_we_made_is_deleted(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Some(Handled { cluster, context, deed: Deed::Deleted { key, observed, .. }, .. }) = handled(event)
    else {
        return Ok(());
    };
    match scene.facts.object(cluster, &observed.uid) {
        Some(known) if known.origin == Origin::Adopted => {
            Err(format!("{key} on {cluster} was adopted, and was deleted"))
        }
        Some(known) if known.is_made => Ok(()),
        _ if scene.meddled.is_stranger(cluster, &observed.uid) => {
            Err(format!("{key} on {cluster} was made by somebody else, and was deleted"))
        }
        // Between an object's creation and its record our labels are all the proof that there is.
        _ if !is_recorded_otherwise(scene, cluster, context.as_ref(), key, &observed.uid) => Ok(()),
        _ => Err(format!("{key} on {cluster} was never ours, and was deleted")),
    }
}

/// True when a lane's record has another UID of an object.
fn is_recorded_otherwise(
    scene: &Scene<'_>,
    cluster: &ClusterId,
    context: Option<&ContextId>,
    key: &ObjectKey,
    uid: &Arc<str>,
) -> bool {
    let lane = context.and_then(|context| lane(scene, context, cluster));
    let recorded = lane.as_ref().and_then(|lane| lane.objects.get(key)?.uid.as_ref());
    recorded.is_some_and(|recorded| recorded != uid)
}

/// What others made is first changed by us in a generation of which a step adopts or overwrites it.
pub(super) fn what_others_made_is_left_alone(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Some(Handled { cluster, context, generation, deed: Deed::Changed(verb, written), .. }) =
        handled(event)
    else {
        return Ok(());
    };
    let Written { key, uid, .. } = written;
    if !scene.meddled.is_stranger(cluster, uid) || scene.facts.object(cluster, uid).is_some() {
        return Ok(());
    }
    let root = context.as_ref().and_then(|context| scene.facts.root(context, *generation));
    // What is approved has an invariant of its own: its content tells whether it is as good as ours.
    let is_approved = *verb == Verb::Approve;
    let is_taken_over =
        *verb == Verb::Update && root.is_some_and(|root| takes_over(scene, root, cluster, key));
    if is_approved || is_taken_over {
        return Ok(());
    }
    Err(format!("{key} on {cluster} was made by somebody else, and nobody wants it taken over: {verb:?}"))
}

/// True when a cluster is to hold an object, whoever made it.
fn takes_over(scene: &Scene<'_>, root: &Root, cluster: &ClusterId, key: &ObjectKey) -> bool {
    let steps = root.wanted(cluster).and_then(|bundle| root.bundles.get(&bundle));
    steps.into_iter().flatten().any(|step| match &step.action {
        ActionRecord::Apply { manifest, existing, .. } => {
            *existing != Existing::Refuse && scene.facts.key(manifest) == Some(key)
        }
        ActionRecord::Request { .. } => false,
    })
}

/// Where an app context is to hold nothing, what we made is deleted or kept as it says.
pub(super) fn a_removal_keeps_what_it_is_to_keep(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Some(handled) = handled(event) else { return Ok(()) };
    let Handled { cluster, context: Some(context), generation, deed, .. } = handled else { return Ok(()) };
    // A generation that wants something here deletes whatever it does not want.
    let removal = scene.facts.root(context, *generation).filter(|root| root.wanted(cluster).is_none());
    let Some(removal) = removal.map(Root::removal) else { return Ok(()) };
    let keeps = |key: &ObjectKey| removal.disposal(key) == Disposal::Keep;
    match deed {
        // What was asked for through a request is no object that anybody keeps.
        Deed::Deleted { key, .. } if keeps(key) && &*key.kind != "CertificateSigningRequest" => {
            Err(format!("{key} on {cluster} was to be kept, and was deleted"))
        }
        Deed::Changed(Verb::Release, Written { key, uid, .. }) if !keeps(key) => {
            let known = scene.facts.object(cluster, uid);
            let is_ours = known.is_some_and(|known| known.is_made && known.origin == Origin::Created);
            let may_hold_contents = &*key.kind == "Namespace" && !removal.delete_contents;
            if is_ours && !may_hold_contents {
                return Err(format!("{key} on {cluster} was to be deleted, and was let go"));
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A namespace with contents that have been there for a while is deleted only when that was asked for.
pub(super) fn contents_are_kept(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Some(handled) = handled(event) else { return Ok(()) };
    let Handled { cluster, context: Some(context), generation, deed: Deed::Deleted { key, .. }, .. } =
        handled
    else {
        return Ok(());
    };
    if &*key.kind != "Namespace" || scene.facts.empties(context, *generation) {
        return Ok(());
    }
    let is_old = |object: &Object| {
        let since = scene.meddled.last(cluster, &object.key);
        since.is_some_and(|since| scene.world.now() > since + COUNTED)
    };
    let intruder = objects(scene, cluster).into_iter().find(|object| {
        object.key.namespace.as_deref() == Some(&*key.name)
            && object.key.name.starts_with(INTRUDER)
            && is_old(object)
    });
    match intruder {
        Some(object) => Err(format!("{key} on {cluster} was deleted with {}", object.key)),
        None => Ok(()),
    }
}
