//! What comes late undoes nothing.

use dcm_core::manifest::ObjectKey;
use dcm_core::status::LaneState;

use super::{Scene, handled, lane, root, wanted};
use crate::simulation::events::{Deed, Event, Handled};
use crate::simulation::judge::facts::Known;

/// A write to an object that was there: the object's UID, its key, and what was known of it.
fn hit<'a>(scene: &'a Scene<'_>, handled: &'a Handled) -> Option<(&'a ObjectKey, &'a Known)> {
    let (uid, key) = match &handled.deed {
        Deed::Changed(_, written) => (&written.uid, &written.key),
        Deed::Deleted { observed, key, .. } => (&observed.uid, key),
        Deed::Created(_) | Deed::Token(_) => return None,
    };
    Some((key, scene.facts.object(&handled.cluster, uid)?))
}

/// A write that hits an object which a later owner of the cluster has written.
pub(super) fn an_older_fence_overwrites_no_newer_one(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Some(handled) = handled(event) else { return Ok(()) };
    match hit(scene, handled) {
        Some((key, known)) if known.fence > handled.fence => {
            let (newer, older) = (known.fence.0, handled.fence.0);
            Err(format!("{key} on {}: fence {older} wrote after fence {newer}", handled.cluster))
        }
        _ => Ok(()),
    }
}

/// A write that hits an object which a later generation of its app context has written.
pub(super) fn an_older_generation_overwrites_no_newer_one(
    scene: &Scene<'_>,
    event: &Event,
) -> Result<(), String> {
    let Some(handled) = handled(event) else { return Ok(()) };
    match hit(scene, handled) {
        Some((key, known)) if known.context == handled.context && known.generation > handled.generation => {
            let (newer, older) = (known.generation, handled.generation);
            Err(format!("{key} on {}: generation {older} wrote after generation {newer}", handled.cluster))
        }
        _ => Ok(()),
    }
}

/// A late request of an earlier generation changes nothing that a lane has brought about since, by its record.
pub(super) fn what_is_done_is_not_undone_late(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Some((handled, context)) =
        handled(event).and_then(|handled| Some((handled, handled.context.as_ref()?)))
    else {
        return Ok(());
    };
    let Some((key, _)) = hit(scene, handled) else { return Ok(()) };
    let lane = lane(scene, context, &handled.cluster)
        .filter(|lane| lane.state == LaneState::Done && lane.generation > handled.generation);
    let wanted = lane.as_ref().zip(root(scene, context)).and_then(|(lane, root)| wanted(lane, &root));
    let is_wanted = lane.zip(wanted).is_some_and(|(lane, wanted)| {
        lane.objects.get(key).and_then(|record| record.manifest).is_some_and(|hash| wanted.contains(&hash))
    });
    if is_wanted {
        let older = handled.generation;
        return Err(format!("{key} on {} is done, and was changed by generation {older}", handled.cluster));
    }
    Ok(())
}
