//! What is recorded before anything is made.

use dcm_core::port::store::Prefix;

use super::{Scene, created, is_late, lane};
use crate::record::{self, Claim, path};
use crate::simulation::events::Event;

/// Before the first object of a kind is made, the lane's record names the kind: whoever finds it knows where to look.
pub(super) fn nothing_is_made_without_a_record(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Some((handled, written)) = created(event) else { return Ok(()) };
    let Some(context) = &handled.context else { return Ok(()) };
    let lane = lane(scene, context, &handled.cluster);
    let is_named = lane.is_some_and(|lane| lane.kinds.iter().any(|kind| kind.kind == written.key.kind));
    // A request that was sent long before may come late; it is found by looking again.
    if is_named || is_late(scene, handled) {
        return Ok(());
    }
    Err(format!("{} on {} was made, and no record names its kind", written.key, handled.cluster))
}

pub(super) fn no_namespace_is_made_without_a_claim(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Some((handled, written)) = created(event) else { return Ok(()) };
    let Some(context) = handled.context.as_ref().filter(|_| &*written.key.kind == "Namespace") else {
        return Ok(());
    };
    let claims = scene.world.store().documents(&Prefix::below(&path::claims(&handled.cluster)));
    let claim = claims.iter().find(|entry| entry.path == path::claim(&handled.cluster, &written.key.name));
    let holder = claim.and_then(|entry| record::read::<Claim>(entry).ok()).map(|claim| claim.context);
    if holder.as_ref() == Some(context) || (holder.is_none() && is_late(scene, handled)) {
        return Ok(());
    }
    Err(format!(
        "{} on {} was made for {context}, and is claimed by {holder:?}",
        written.key, handled.cluster
    ))
}
