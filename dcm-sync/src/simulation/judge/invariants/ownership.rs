//! Whose objects are touched.

use std::sync::Arc;
use std::time::Duration;

use dcm_core::app_context::Existing;
use dcm_core::manifest::ObjectKey;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::cluster::{Object, Origin};
use dcm_core::port::store::Write;
use dcm_core::port::synchronizer::Disposal;

use super::{Scene, handled, lane, objects, root};
use crate::record::{ActionRecord, Lane, Root, path};
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
        _ if is_in_place_of_ours(scene, cluster, context.as_ref(), key) => Ok(()),
        _ if scene.meddled.is_stranger(cluster, &observed.uid) => {
            Err(format!("{key} on {cluster} was made by somebody else, and was deleted"))
        }
        // What was copied with its proof, name and all, counts as ours until another UID is recorded.
        _ if !is_recorded_otherwise(scene, cluster, context.as_ref(), key, &observed.uid) => Ok(()),
        _ => Err(format!("{key} on {cluster} was never ours, and was deleted")),
    }
}

/// What is taken away from a cluster, or let go, is wanted there by no other lane: neither by that of another app context, nor by
/// that of the same one under the cluster's other name.
pub(super) fn no_lane_takes_what_another_wants(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Some(Handled { cluster, context: Some(context), generation, deed, .. }) = handled(event) else {
        return Ok(());
    };
    let (key, uid) = match deed {
        Deed::Deleted { key, observed, .. } => (key, &observed.uid),
        Deed::Changed(Verb::Release, Written { key, uid, .. }) => (key, uid),
        Deed::Changed(..) | Deed::Created(_) | Deed::Token(_) => return Ok(()),
    };
    let wants = |root: &Root| {
        let steps = root.wanted(cluster).and_then(|bundle| root.bundles.get(&bundle)).into_iter().flatten();
        steps.into_iter().any(|step| match &step.action {
            ActionRecord::Apply { manifest, .. } => scene.facts.key(manifest) == Some(key),
            ActionRecord::Request { .. } => false,
        })
    };
    // The lane of this name wants it, so it is not the one that took it.
    if scene.facts.root(context, *generation).is_some_and(wants) {
        return Err(format!("{key} on {cluster} is wanted by {context}, and was taken for it"));
    }
    let others = scene.world.known_contexts().into_iter().filter(|other| other != context);
    let mut others = others.filter(|other| {
        let lane = lane(scene, other, cluster);
        let is_its_own = lane
            .is_some_and(|lane| lane.objects.get(key).is_some_and(|record| record.uid.as_ref() == Some(uid)));
        is_its_own && root(scene, other).is_some_and(|root| wants(&root))
    });
    match others.next() {
        Some(other) => Err(format!("{key} on {cluster} is wanted by {other}, and was taken for {context}")),
        None => Ok(()),
    }
}

/// A cluster is ahead of the store only by a generation that was wanted once: no number of somebody else's gets into a record.
pub(super) fn an_unproved_mark_changes_nothing(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Event::Stored(Write::Create { path, document } | Write::Update { path, document, .. }) = event else {
        return Ok(());
    };
    let Some(context) = path::context_of_lane(path) else { return Ok(()) };
    let ahead = document.read::<Lane>().ok().and_then(|lane| lane.ahead);
    match ahead.filter(|ahead| scene.facts.root(&context, *ahead).is_none()) {
        Some(ahead) => Err(format!("{path} holds generation {ahead}, which nobody ever wanted of {context}")),
        None => Ok(()),
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

/// True for a binding with the name of one that we made: it is ours whatever its UID.
fn is_in_place_of_ours(
    scene: &Scene<'_>,
    cluster: &ClusterId,
    context: Option<&ContextId>,
    key: &ObjectKey,
) -> bool {
    let lane = context.and_then(|context| lane(scene, context, cluster));
    let recorded = lane.as_ref().and_then(|lane| lane.objects.get(key));
    key.is_binding() && recorded.is_some_and(|recorded| recorded.origin == Origin::Created)
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
    if is_approved || is_taken_over || is_in_place_of_ours(scene, cluster, context.as_ref(), key) {
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
            let lane = lane(scene, context, cluster);
            let recorded = lane.as_ref().and_then(|lane| lane.objects.get(key)?.uid.as_ref());
            let is_known = recorded == Some(uid);
            let may_hold_contents = &*key.kind == "Namespace" && !(is_known && removal.delete_contents);
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
