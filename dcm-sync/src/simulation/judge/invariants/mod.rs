//! What may never happen, each rule as a function with a name.

mod asking;
mod binding;
mod order;
mod ownership;
mod pace;
mod records;
mod status;

use std::collections::BTreeSet;

use dcm_core::hash::ContentHash;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::cluster::Object;
use dcm_core::port::store::Prefix;

use super::Scene;
use crate::record::{self, Lane, path};
use crate::simulation::events::{Deed, Event, Handled, Written};

/// A rule, and how it is looked at.
pub struct Invariant {
    /// What is never so, in the words of its function.
    pub name: &'static str,
    /// Looks whether it holds at an event; else says what happened.
    pub holds: fn(&Scene<'_>, &Event) -> Result<(), String>,
}

/// All of them.
pub const INVARIANTS: &[Invariant] = &[
    Invariant {
        name: "nothing is deleted or changed that we did not make",
        holds: ownership::nothing_is_deleted_or_changed_that_we_did_not_make,
    },
    Invariant {
        name: "no lane takes what another wants",
        holds: ownership::no_lane_takes_what_another_wants,
    },
    Invariant { name: "what others put into a namespace is kept", holds: ownership::contents_are_kept },
    Invariant {
        name: "a namespace goes that holds nothing but what controllers wrote",
        holds: ownership::a_namespace_goes_that_holds_nothing_but_what_controllers_wrote,
    },
    Invariant {
        name: "a removal keeps what it is to keep",
        holds: ownership::a_removal_keeps_what_it_is_to_keep,
    },
    Invariant { name: "nothing is made without a record", holds: records::nothing_is_made_without_a_record },
    Invariant {
        name: "no namespace is made without a claim",
        holds: records::no_namespace_is_made_without_a_claim,
    },
    Invariant {
        name: "an older fence overwrites no newer one",
        holds: order::an_older_fence_overwrites_no_newer_one,
    },
    Invariant {
        name: "an older generation overwrites no newer one",
        holds: order::an_older_generation_overwrites_no_newer_one,
    },
    Invariant { name: "what is done is not undone late", holds: order::what_is_done_is_not_undone_late },
    Invariant {
        name: "what is answered is not asked for again",
        holds: asking::what_is_answered_is_not_asked_for_again,
    },
    Invariant {
        name: "no two requests for one credential live",
        holds: asking::no_two_requests_for_one_credential_live,
    },
    Invariant {
        name: "nothing is approved that we did not ask for",
        holds: asking::nothing_is_approved_that_we_did_not_ask_for,
    },
    Invariant { name: "no token counts as issued untried", holds: asking::no_token_counts_as_issued_untried },
    Invariant {
        name: "no token is asked for of an account that we did not make",
        holds: ownership::no_token_is_asked_for_of_an_account_that_we_did_not_make,
    },
    Invariant {
        name: "one cloud's objects change nothing of another",
        holds: ownership::one_clouds_objects_change_nothing_of_another,
    },
    Invariant {
        name: "what is bound to a plan is done as planned",
        holds: binding::what_is_bound_to_a_plan_is_done_as_planned,
    },
    Invariant { name: "paused work stands still", holds: pace::paused_work_stands_still },
    Invariant {
        name: "nothing begins once a stop has returned",
        holds: pace::nothing_begins_once_a_stop_has_returned,
    },
    Invariant { name: "the write budget is kept", holds: pace::the_write_budget_is_kept },
    Invariant { name: "a status claims only what is", holds: status::a_status_claims_only_what_is },
    Invariant {
        name: "what is reported as applied was seen",
        holds: status::what_is_reported_as_applied_was_seen,
    },
    Invariant { name: "nobody goes round in circles", holds: pace::nobody_goes_round_in_circles },
];

fn handled(event: &Event) -> Option<&Handled> {
    match event {
        Event::Handled(handled) => Some(handled),
        Event::Sent(_)
        | Event::Ended(_)
        | Event::Stored(_)
        | Event::Looked(_)
        | Event::Halted(_)
        | Event::Spun(_) => None,
    }
}

fn created(event: &Event) -> Option<(&Handled, &Written)> {
    match handled(event)? {
        handled @ Handled { deed: Deed::Created(written), .. } => Some((handled, written)),
        _ => None,
    }
}

/// True for a write of an earlier owner of the cluster, or of an earlier generation.
pub(super) fn is_late(scene: &Scene<'_>, handled: &Handled) -> bool {
    let store = scene.world.store();
    let shard = store
        .documents(&path::shards())
        .into_iter()
        .find(|entry| entry.path == path::shard(&handled.cluster));
    let fence = shard.and_then(|entry| record::read::<record::Shard>(&entry).ok()).map(|shard| shard.fence);
    let root = handled.context.as_ref().and_then(|context| root(scene, context));
    fence.is_some_and(|fence| fence > handled.fence)
        || root.is_none_or(|root| root.generation > handled.generation)
}

/// The manifests that a lane's record speaks of, as far as the root still has them.
fn wanted(lane: &Lane, root: &record::Root) -> Option<BTreeSet<ContentHash>> {
    Some(root.placements.steps_of(&lane.bundle?).iter().filter_map(record::StepRecord::manifest).collect())
}

fn objects(scene: &Scene<'_>, cluster: &ClusterId) -> Vec<Object> {
    scene.world.objects(cluster)
}

fn lane(scene: &Scene<'_>, context: &ContextId, cluster: &ClusterId) -> Option<Lane> {
    let lanes = scene.world.store().documents(&path::lanes(context));
    let entry = lanes.into_iter().find(|entry| entry.path == path::lane(context, cluster))?;
    record::read(&entry).ok()
}

fn root(scene: &Scene<'_>, context: &ContextId) -> Option<record::Root> {
    let roots = scene.world.store().documents(&Prefix::below(&path::context_folder(context)));
    record::read(roots.first()?).ok()
}

#[cfg(test)]
mod tests;
