//! An apply that is bound to a plan does that, and nothing else.

use dcm_core::hash::ContentHash;
use dcm_core::name::ContextId;
use dcm_core::plan::{Desired, observed_state};
use dcm_core::port::cluster::Object;

use super::{Scene, handled};
use crate::simulation::events::{Event, Handled};
use crate::simulation::meddling::edited_map;

/// The first write of each object for a plan finds it as it was seen for that; and before the first of all, it is stored that
/// the cluster is so.
pub(super) fn what_is_bound_to_a_plan_is_done_as_planned(
    scene: &Scene<'_>,
    event: &Event,
) -> Result<(), String> {
    let Some(handled) = handled(event) else { return Ok(()) };
    let Handled { cluster, context: Some(context), generation, fence, before, deed, .. } = handled else {
        return Ok(());
    };
    // A token changes no object, and what certificates are asked for with is told by its name.
    let Some(key) = deed.key().filter(|key| &*key.kind != "CertificateSigningRequest") else { return Ok(()) };
    let Some(bound) = scene.facts.bound(context, cluster) else { return Ok(()) };
    if *generation < bound.generation || bound.writer.is_some_and(|writer| writer != *fence) {
        return Ok(());
    }
    // It may be taken back by now, while this was on its way.
    if bound.writer.is_none() {
        return Err(format!("{key} on {cluster} was written before the cluster was known to be as planned"));
    }
    // An edit is not bound to the text, which others may change at any time.
    if *key == edited_map() {
        return Ok(());
    }
    let found = before.as_ref().map(|before| {
        let mut before = (**before).clone();
        before.disclaim_unproved(scene.world.proofs(cluster).as_ref());
        state(scene, handled, context, &before)
    });
    if !bound.written.contains(key) && found != bound.observed.state_of(key) {
        return Err(format!("{key} on {cluster} was written, and was not as it was planned on: {before:?}"));
    }
    Ok(())
}

/// The state of an object, as far as it is ours.
fn state(scene: &Scene<'_>, handled: &Handled, context: &ContextId, object: &Object) -> ContentHash {
    let wanted = scene.world.stored(context);
    let bundle = wanted.as_ref().and_then(|wanted| wanted.placements.get(&handled.cluster));
    let is_others = object.marks.as_ref().is_some_and(|marks| marks.context != *context);
    let manifest = bundle.and_then(|bundle| bundle.manifest(&object.key)).filter(|_| !is_others);
    let labels = wanted.as_ref().map(|wanted| wanted.labels.clone()).unwrap_or_default().into();
    let desired = manifest.map(|manifest| Desired { manifest: manifest.clone(), labels });
    observed_state(object, desired.as_ref())
}
