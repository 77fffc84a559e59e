//! Whose objects are touched.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::app_context::Existing;
use dcm_core::ignored::IgnoredContents;
use dcm_core::manifest::ObjectKey;
use dcm_core::name::ClusterId;
use dcm_core::plan::Recorded;
use dcm_core::port::cluster::{Object, Origin};
use dcm_core::port::store::Write;
use dcm_core::port::synchronizer::Disposal;
use jiff::Timestamp;

use super::status::is_disturbed;
use super::{Scene, handled, lane, objects, root};
use crate::record::{ActionRecord, Lane, Root, path};
use crate::sim::Verb;
use crate::simulation::events::{Deed, Event, Handled, Written};
use crate::simulation::meddling::{INTRUDER, check_shared, edited_map, is_copy};

/// How long it may take from counting a namespace's contents to its deletion.
const COUNTED: Duration = Duration::from_secs(120);

/// A deletion hits objects that the engine made, and none that it adopted. The engine changes what others made only from a generation on in
/// which a step adopts or overwrites it. Marks make an object ours only with their proof. Of a text of which a part is edited, all else
/// is as others wrote it.
pub(super) fn nothing_is_deleted_or_changed_that_we_did_not_make(
    scene: &Scene<'_>,
    event: &Event,
) -> Result<(), String> {
    let Some(handled @ Handled { cluster, deed, .. }) = handled(event) else { return Ok(()) };
    match deed {
        Deed::Deleted { key, observed, .. } => {
            let uid = &observed.uid;
            let is_adopted =
                scene.facts.object(cluster, uid).is_some_and(|known| known.origin == Origin::Adopted);
            if is_adopted {
                return Err(format!("{key} on {cluster} was adopted, and was deleted"));
            }
            if is_ours(scene, handled, key, uid) {
                return Ok(());
            }
            Err(format!("{key} on {cluster} was never ours, and was deleted"))
        }
        Deed::Changed(Verb::SetPart, Written { key, .. }) if *key == edited_map() => {
            let map = objects(scene, cluster).into_iter().find(|object| object.key == *key);
            map.map_or(Ok(()), |map| check_shared(&map))
        }
        // Approvals have a rule of their own, which compares what the request asks for.
        Deed::Changed(verb, Written { key, uid, .. }) if *verb != Verb::Approve => {
            let root = handled.context.as_ref().and_then(|id| scene.facts.root(id, handled.generation));
            let is_taken_over =
                *verb == Verb::Update && root.is_some_and(|root| takes_over(scene, root, cluster, key));
            let is_known = scene.facts.object(cluster, uid).is_some();
            if is_known || is_taken_over || is_ours(scene, handled, key, uid) {
                return Ok(());
            }
            Err(format!(
                "{key} on {cluster} is not ours, no step takes it over, and it was changed: {verb:?}"
            ))
        }
        Deed::Changed(..) | Deed::Created(_) | Deed::Token(_) => Ok(()),
    }
}

/// A token is issued only for an account that is ours: who made another one may hold tokens of it. For a while the engine can't know that an
/// account was replaced.
pub(super) fn no_token_is_asked_for_of_an_account_that_we_did_not_make(
    scene: &Scene<'_>,
    event: &Event,
) -> Result<(), String> {
    let Some(handled @ Handled { cluster, deed: Deed::Token(_), before: Some(account), .. }) = handled(event)
    else {
        return Ok(());
    };
    let Object { key, uid, .. } = &**account;
    let is_replaced = scene.facts.has_made(cluster, key) && is_disturbed(scene, cluster, key);
    if is_replaced || is_ours(scene, handled, key, uid) {
        return Ok(());
    }
    Err(format!("{key} on {cluster} is not ours, and a token is issued for it"))
}

/// True for an object that the engine may take for its own: it made it, the object's marks were proved when it was recorded, or they are
/// proved now and no other object is recorded in its place. A binding in the place of one of ours counts, too. A record alone does not.
fn is_ours(scene: &Scene<'_>, handled: &Handled, key: &ObjectKey, uid: &Arc<str>) -> bool {
    let Handled { cluster, context, before, .. } = handled;
    if scene.facts.is_ours(cluster, uid) {
        return true;
    }
    let lane = context.as_ref().and_then(|context| lane(scene, context, cluster));
    let record = lane.as_ref().and_then(|lane| lane.objects.get(key));
    if key.is_binding() && record.is_some_and(|record| record.origin == Origin::Created) {
        return true;
    }
    let proofs = scene.world.proofs(cluster);
    let is_proved =
        before.as_ref().zip(proofs).is_some_and(|(before, proofs)| proofs.proves(key, &before.body));
    // What was copied with its proof, name and all, counts as ours until another one is recorded that is there.
    let is_of_another = |record: &Recorded| record.uid.as_ref().is_some_and(|recorded| recorded != uid);
    is_proved && record.is_none_or(|record| !is_of_another(record) || record.may_be_gone)
}

/// A namespace that we made is given up only where others have more in it than what controllers put into each, or where it is to be kept.
/// What was there may have gone since it was counted.
pub(super) fn a_namespace_goes_that_holds_nothing_but_what_controllers_wrote(
    scene: &Scene<'_>,
    event: &Event,
) -> Result<(), String> {
    let Some(Handled { cluster, context: Some(context), generation, deed, .. }) = handled(event) else {
        return Ok(());
    };
    let Deed::Changed(Verb::Release, Written { key, uid, .. }) = deed else { return Ok(()) };
    let is_made = scene.facts.object(cluster, uid).is_some_and(|known| known.origin == Origin::Created);
    let keeps = scene
        .facts
        .root(context, *generation)
        .is_none_or(|root| root.removal().disposal(key) == Disposal::Keep);
    if &*key.kind != "Namespace" || !is_made || keeps {
        return Ok(());
    }
    let now = scene.world.now();
    let is_inside = |other: &ObjectKey| other == key || other.namespace.as_ref() == Some(&key.name);
    let is_recent =
        |other: &ObjectKey| scene.meddled.last(cluster, other).is_some_and(|last| now <= last + COUNTED);
    let ignored = IgnoredContents::default();
    let counts = |object: &Object| {
        let is_own = matches!(
            (&*object.key.kind, &*object.key.name),
            ("ServiceAccount", "default") | ("ConfigMap", "kube-root-ca.crt")
        );
        let is_controllers =
            ignored.ignores(&object.key.group, &object.key.kind, &object.key.name, &BTreeMap::new());
        !is_own && !is_controllers
    };
    let holds_more = objects(scene, cluster)
        .iter()
        .any(|object| object.key.namespace.as_ref() == Some(&key.name) && counts(object));
    let may_have_held = scene.meddled.on(cluster).any(|other| is_inside(other) && is_recent(other));
    let was_cleared = scene.meddled.cleared(cluster).is_some_and(|at| now <= at + COUNTED);
    if holds_more || may_have_held || was_cleared {
        return Ok(());
    }
    Err(format!("{key} on {cluster} was given up, and holds nothing of others but what controllers wrote"))
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
        root.steps(cluster).iter().any(|step| match &step.action {
            ActionRecord::Apply { manifest, .. } => scene.facts.key(manifest) == Some(key),
            ActionRecord::Edit { .. } | ActionRecord::Request { .. } => false,
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

/// A lane's record names only objects that its app context wanted at some time, and as the later generation of a cluster only one that its
/// app context had.
pub(super) fn one_clouds_objects_change_nothing_of_another(
    scene: &Scene<'_>,
    event: &Event,
) -> Result<(), String> {
    let Event::Stored(Write::Create { path, document } | Write::Update { path, document, .. }) = event else {
        return Ok(());
    };
    let Some(context) = path::context_of_lane(path) else { return Ok(()) };
    let Ok(lane) = document.read::<Lane>() else { return Ok(()) };
    if let Some(ahead) = lane.ahead.filter(|ahead| scene.facts.root(&context, *ahead).is_none()) {
        return Err(format!("{path} holds generation {ahead}, which {context} never had"));
    }
    let of_causes = lane.causes.iter().filter_map(|cause| cause.object.as_ref());
    match lane.objects.keys().chain(of_causes).find(|key| !scene.facts.has_wanted(&context, key)) {
        Some(key) => Err(format!("{path} names {key}, which {context} never wanted")),
        None => Ok(()),
    }
}

/// True when a cluster is to hold an object, whoever made it.
fn takes_over(scene: &Scene<'_>, root: &Root, cluster: &ClusterId, key: &ObjectKey) -> bool {
    root.steps(cluster).iter().any(|step| match &step.action {
        ActionRecord::Apply { manifest, existing, .. } => {
            *existing != Existing::Refuse && scene.facts.key(manifest) == Some(key)
        }
        ActionRecord::Edit { .. } | ActionRecord::Request { .. } => false,
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
        let since = scene.meddled.last(cluster, &object.key).or_else(|| made_at(object));
        since.is_some_and(|since| scene.world.now() > since + COUNTED)
    };
    let intruder = objects(scene, cluster).into_iter().find(|object| {
        object.key.namespace.as_deref() == Some(&*key.name)
            && (object.key.name.starts_with(INTRUDER) || is_copy(object))
            && is_old(object)
    });
    match intruder {
        Some(object) => Err(format!("{key} on {cluster} was deleted with {}", object.key)),
        None => Ok(()),
    }
}

fn made_at(object: &Object) -> Option<Timestamp> {
    object.body["metadata"]["creationTimestamp"].as_str()?.parse().ok()
}
