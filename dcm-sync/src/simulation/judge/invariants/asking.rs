//! Credentials that are asked for.

use std::collections::BTreeSet;
use std::sync::Arc;

use dcm_core::app_context::Request;
use dcm_core::plan::certificate_manifest;
use dcm_core::port::store::Write;
use dcm_core::port::synchronizer::Issued;
use serde_json::Value;

use super::{Scene, handled, lane, root};
use crate::record::{self, ActionRecord, Outcome};
use crate::sim::Verb;
use crate::simulation::events::{Asked, Deed, Event, Handled, Sent, Written};

/// A credential whose result is stored is not asked for again.
pub(super) fn what_is_answered_is_not_asked_for_again(
    scene: &Scene<'_>,
    event: &Event,
) -> Result<(), String> {
    let Event::Sent(sent) = event else { return Ok(()) };
    let Sent { cluster, context: Some(context), asks_for: Some(asked), generation, .. } = sent else {
        return Ok(());
    };
    // Another generation may ask for the same under another name.
    let root = root(scene, context).filter(|root| root.generation == *generation);
    let (Some(root), Some(lane)) = (root, lane(scene, context, cluster)) else { return Ok(()) };
    let is_known = |name: &Arc<str>| {
        // A result that no record names comes from a worker that died, or lost the lane, in that moment.
        lane.is_answered(name) && scene.facts.has_result(context, cluster, name)
    };
    match requests(&root, asked).find(|name| is_known(name)) {
        Some(name) => Err(format!("{name} of {context} on {cluster} is asked for, and was answered")),
        None => Ok(()),
    }
}

/// While a request for a credential is under way, its process does not ask for that credential once more.
pub(super) fn no_two_requests_for_one_credential_live(
    scene: &Scene<'_>,
    event: &Event,
) -> Result<(), String> {
    let Event::Sent(sent) = event else { return Ok(()) };
    let names = names(scene, sent);
    let is_of_the_same = |other: &&Sent| {
        let of = |sent: &Sent| (sent.process, sent.cluster.clone(), sent.context.clone());
        of(other) == of(sent) && !names.is_disjoint(&self::names(scene, other))
    };
    let mut others = scene.facts.awaited().iter().filter(is_of_the_same);
    match others.find(|other| !is_made_once(sent, other)) {
        Some(first) => {
            Err(format!("{names:?} is asked for on {}, and was at {} already", sent.cluster, first.at))
        }
        None => Ok(()),
    }
}

/// A request for a certificate is approved only where the generation that approves it asks for exactly that.
pub(super) fn nothing_is_approved_that_we_did_not_ask_for(
    scene: &Scene<'_>,
    event: &Event,
) -> Result<(), String> {
    let Some(handled) = handled(event) else { return Ok(()) };
    let Handled { cluster, context: Some(context), generation, deed, before: Some(approved), .. } = handled
    else {
        return Ok(());
    };
    let Deed::Changed(Verb::Approve, Written { key, .. }) = deed else { return Ok(()) };
    let Some(root) = scene.facts.root(context, *generation) else { return Ok(()) };
    let is_asked_for = root.placements.steps().any(|step| match &step.action {
        ActionRecord::Request { request: Request::Certificate(request), .. } => {
            request.object() == *key
                && certificate_manifest(request)
                    .is_ok_and(|manifest| asks_alike(manifest.body(), &approved.body))
        }
        _ => false,
    });
    if is_asked_for {
        Ok(())
    } else {
        Err(format!("{key} on {cluster} is approved: {:?}", approved.body["spec"]))
    }
}

/// A token that is stored was accepted by its cluster. A certificate may be untried, where its user keeps the key.
pub(super) fn no_token_counts_as_issued_untried(_: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Event::Stored(Write::Create { path, document } | Write::Update { path, document, .. }) = event else {
        return Ok(());
    };
    if path.segments().next() != Some("results") {
        return Ok(());
    }
    match document.read::<Outcome>() {
        Ok(Outcome { name, issued: Issued::Token { tried: false, .. }, .. }) => {
            Err(format!("the token {name} is stored at {path}, and its cluster did not accept it"))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// True for two that ask a signer for the same.
fn asks_alike(one: &Value, other: &Value) -> bool {
    ["request", "signerName", "usages", "expirationSeconds"]
        .iter()
        .all(|member| one["spec"][member] == other["spec"][member])
}

/// True for two that make an object of the same name: the cluster takes only one of them.
fn is_made_once(one: &Sent, other: &Sent) -> bool {
    matches!(one.asks_for, Some(Asked::Certificate(_))) && one.asks_for == other.asks_for
}

/// The names of the requests that one asks for.
fn names(scene: &Scene<'_>, sent: &Sent) -> BTreeSet<Arc<str>> {
    let Sent { context: Some(context), asks_for: Some(asked), generation, .. } = sent else {
        return BTreeSet::new();
    };
    let root = scene.facts.root(context, *generation);
    root.map(|root| requests(root, asked).cloned().collect()).unwrap_or_default()
}

/// The names of an app context's requests for a credential.
fn requests<'a>(root: &'a record::Root, asked: &'a Asked) -> impl Iterator<Item = &'a Arc<str>> {
    root.placements.steps().filter_map(move |step| {
        let ActionRecord::Request { name, request } = &step.action else { return None };
        let is_it = match (request, asked) {
            (Request::Certificate(wanted), Asked::Certificate(object)) => wanted.object_name == *object,
            (Request::Token(wanted), Asked::Token(token)) => wanted == token,
            _ => false,
        };
        is_it.then_some(name)
    })
}
