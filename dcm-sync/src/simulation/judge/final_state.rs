//! What has to be in the end: all that is wanted, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::{Action, AppContext, Bundle, Request};
use dcm_core::corefile::StubDomain;
use dcm_core::fields;
use dcm_core::manifest::{Manifest, ObjectKey};
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::plan::Records;
use dcm_core::port::cluster::Object;
use dcm_core::port::store::{Prefix, Write};
use dcm_core::port::synchronizer::Issued;

use super::super::api::Api;
use super::super::events::Event;
use super::super::meddling::{MARKER, Meddled, check_shared, edited_map, is_copy};
use super::super::scenario::Scenario;
use super::super::wish::{EDITED, REVOKED};
use super::super::world::World;
use super::Judge;
use crate::record::{self, Lane, Outcome, Shard, Worker, WorkerId, path};

/// What is not as it was wanted last.
pub(in crate::simulation) fn find_differences(
    world: &World<'_>,
    api: &dyn Api,
    scenario: &Scenario,
    meddled: &Meddled,
) -> Vec<String> {
    let (mut wanted, mut there, mut differences) = (Vec::new(), BTreeSet::new(), Vec::new());
    for (number, wish) in (1..).zip(&scenario.last_wishes) {
        if let Some(variant) = wish.variant() {
            there.insert(number);
            match api.wanted(world, number, variant) {
                Ok(context) => wanted.push(context),
                Err(difference) => differences.push(difference),
            }
        }
    }
    for id in world.fleet().ids() {
        differences.extend(of_cluster(world, id, &wanted, meddled));
    }
    differences.extend(of_store(world, &wanted));
    differences.extend(of_shares(world));
    differences.extend(api.differences(world, &there));
    differences
}

/// The bindings that the engine made and that give [`REVOKED`] rights, by cluster. A cluster that lost its last writes may have some again
/// that no record names: those are left out.
pub(in crate::simulation) fn rights(world: &World<'_>, judge: &Judge) -> BTreeSet<(ClusterId, ObjectKey)> {
    let of_cluster = |cluster: &ClusterId| {
        let recorded = recorded(world, cluster);
        let has_lost = judge.meddled.lost(cluster).is_some();
        let is_ours = |object: &Object| {
            let is_known =
                recorded.get(&object.key).is_some_and(|record| record.uid.as_ref() == Some(&object.uid));
            judge.is_made(cluster, &object.uid) && (is_known || !has_lost)
        };
        let bindings = bindings_of_user(world, cluster).filter(|object| is_ours(object));
        bindings.map(|object| (cluster.clone(), object.key)).collect::<Vec<_>>()
    };
    world.fleet().ids().flat_map(of_cluster).collect()
}

/// A binding that still gives [`REVOKED`] rights: one that the engine made, or one in the place of a binding that it had made `before`.
pub(in crate::simulation) fn find_right(
    world: &World<'_>,
    judge: &Judge,
    before: &BTreeSet<(ClusterId, ObjectKey)>,
) -> Option<String> {
    let left = rights(world, judge);
    let has_again = |(cluster, key): &&(ClusterId, ObjectKey)| {
        bindings_of_user(world, cluster).any(|object| object.key == *key)
    };
    let (cluster, key) = left.first().or_else(|| before.iter().find(has_again))?;
    Some(format!("{key} on {cluster} still names {REVOKED}"))
}

fn bindings_of_user(world: &World<'_>, cluster: &ClusterId) -> impl Iterator<Item = Object> {
    let names_user = |object: &Object| {
        let subjects = object.body["subjects"].as_array();
        subjects.is_some_and(|subjects| subjects.iter().any(|subject| subject["name"] == REVOKED))
    };
    world.objects(cluster).into_iter().filter(move |object| object.key.is_binding() && names_user(object))
}

fn of_cluster(
    world: &World<'_>,
    cluster: &ClusterId,
    wanted: &[AppContext],
    meddled: &Meddled,
) -> Vec<String> {
    let objects = world.objects(cluster);
    let mut differences = Vec::new();
    let mut expected: BTreeSet<ObjectKey> = BTreeSet::new();
    for context in wanted.iter() {
        let Some(bundle) = context.placements.get(cluster) else { continue };
        for (manifest, is_reported) in manifests(bundle) {
            let key = manifest.key();
            let is_left = is_reported && meddled.on(cluster).any(|touched| touched == key);
            let found = objects.iter().find(|object| object.key == *key);
            if !found.is_some_and(|object| is_as_wanted(object, &context.id, manifest, is_left)) {
                differences.push(format!("{key} on {cluster} is not as {} wants it: {found:?}", context.id));
            }
            expected.insert(key.clone());
        }
        differences.extend(of_credentials(world, cluster, &context.id, bundle));
    }
    let has_lost = meddled.lost(cluster).is_some();
    let map = objects.iter().find(|object| object.key == edited_map());
    differences.extend(map.into_iter().flat_map(|map| of_text(map, cluster, wanted, has_lost)));
    for object in &objects {
        let Some(marks) = &object.marks else { continue };
        // What a cluster has again that lost its last writes may be of a kind, or of a context, that nobody looks for.
        let wanted = wanted.iter().find(|wanted| wanted.id == marks.context);
        let bundle = wanted.and_then(|wanted| wanted.placements.get(cluster));
        let is_looked_for = bundle.is_some_and(|bundle| {
            let is_request = &*object.kind.kind == "CertificateSigningRequest";
            (is_request && asks_for_certificates(bundle))
                || manifests(bundle).any(|(manifest, _)| manifest.key().kind == object.key.kind)
        });
        let is_revived = has_lost && !is_looked_for;
        if !expected.contains(&object.key) && !is_revived && !is_copy(object) {
            differences.push(format!("{} on {cluster} is left of {}", object.key, marks.context));
        }
    }
    differences
}

/// What is wrong in a text of which parts are edited. A cluster that lost its last writes may have some again that no record names.
fn of_text(map: &Object, cluster: &ClusterId, wanted: &[AppContext], has_lost: bool) -> Vec<String> {
    let text = map.body["data"][EDITED.1].as_str().unwrap_or_default();
    let edits = |context: &AppContext| {
        let bundle = context.placements.get(cluster);
        let stub =
            bundle.and_then(|bundle| bundle.edits().find_map(|(_, edit)| edit.resolved(&context.id, None)));
        stub.map(|stub| (context.id.clone(), stub))
    };
    let edits: BTreeMap<ContextId, StubDomain> = wanted.iter().filter_map(edits).collect();
    let is_left = |line: &&str| {
        line.starts_with(MARKER) && !edits.keys().any(|id| line.split(' ').next_back() == Some(id.as_str()))
    };
    let missing = edits.iter().filter(|(_, stub)| stub.edit(text, &[]).as_deref() != Ok(text));
    let mut differences: Vec<String> = missing
        .map(|(id, _)| format!("the stub domain of {id} on {cluster} is not as wanted: {text}"))
        .collect();
    if text.lines().any(|line| is_left(&line)) && !has_lost {
        differences.push(format!("a stub domain on {cluster} is left: {text}"));
    }
    differences.extend(check_shared(map).err());
    differences
}

/// The credentials that the cluster does not accept, though what they are bound to is there.
fn of_credentials(
    world: &World<'_>,
    cluster: &ClusterId,
    context: &ContextId,
    bundle: &Bundle,
) -> Vec<String> {
    let Some(simulated) = world.fleet().cluster(cluster) else { return Vec::new() };
    let results = world.store().documents(&path::results_on(context, cluster));
    let results = results.iter().filter_map(|entry| record::read::<Outcome>(entry).ok());
    let results: BTreeMap<Arc<str>, Issued> = results.map(|outcome| (outcome.name, outcome.issued)).collect();
    let requests = bundle.steps().iter().filter_map(|step| match &step.action {
        Action::Request { name, request } => Some((name, request)),
        Action::Apply { .. } | Action::Edit { .. } => None,
    });
    let is_refused = |(name, request): &(&Arc<str>, &Request)| {
        simulated.server(|server| match (results.get(*name), request) {
            (Some(Issued::Token { token, expires, .. }), Request::Token(request)) => {
                let is_there = server.objects().any(|object| object.key == request.account());
                *expires > world.now() && is_there && server.identify_token(token).is_none()
            }
            (Some(Issued::Certificate { pem, .. }), Request::Certificate(_)) => {
                server.identify_certificate(pem).is_none()
            }
            _ => false,
        })
    };
    requests
        .filter(is_refused)
        .map(|(name, _)| format!("what was issued for {name} of {context} is not accepted by {cluster}"))
        .collect()
}

fn is_as_wanted(object: &Object, context: &ContextId, manifest: &Manifest, is_left: bool) -> bool {
    let marks = object.marks.as_ref();
    let is_ours =
        marks.is_some_and(|marks| marks.context == *context && marks.manifest == Some(manifest.hash()));
    let is_so = is_left || fields::differing(&object.kind, &object.body, manifest.body()).is_empty();
    is_ours && is_so && object.deleting.is_none()
}

fn asks_for_certificates(bundle: &Bundle) -> bool {
    bundle
        .steps()
        .iter()
        .any(|step| matches!(&step.action, Action::Request { request: Request::Certificate(_), .. }))
}

/// What a bundle makes, and whether what others say of it is only reported.
fn manifests(bundle: &Bundle) -> impl Iterator<Item = (&Manifest, bool)> {
    bundle.steps().iter().filter_map(|step| match &step.action {
        Action::Apply { manifest, drift, .. } => Some((manifest, !drift.is_default())),
        Action::Edit { .. } | Action::Request { .. } => None,
    })
}

fn of_store(world: &World<'_>, wanted: &[AppContext]) -> Vec<String> {
    let documents = world.store().documents(&Prefix::everything());
    let there: BTreeSet<&str> = documents.iter().map(|entry| entry.path.as_str()).collect();
    let mut needed = BTreeSet::new();
    for context in wanted.iter() {
        needed.insert(path::root(&context.id).as_str().to_owned());
        for (cluster, bundle) in &context.placements {
            needed.insert(path::lane(&context.id, cluster).as_str().to_owned());
            needed.extend(of_bundle(context, cluster, bundle));
            let stored = manifests(bundle).map(|(manifest, _)| path::manifest(&context.id, manifest.hash()));
            needed.extend(stored.map(|path| path.as_str().to_owned()));
        }
    }
    let missing = needed.iter().filter(|path| !there.contains(path.as_str()));
    let mut differences: Vec<String> = missing.map(|path| format!("{path} is not in the store")).collect();
    let is_left = |path: &&&str| is_exact(wanted, path) && !needed.contains(**path);
    let left = there.iter().filter(is_left);
    differences.extend(left.map(|path| format!("{path} is left in the store")));
    differences
}

/// How many clusters each worker has that serves, when they are not shared evenly.
fn of_shares(world: &World<'_>) -> Option<String> {
    let sessions = world.store().documents(&path::workers());
    let serving =
        sessions.iter().filter(|entry| record::read(entry).is_ok_and(|worker: Worker| worker.serves));
    let mut shares: BTreeMap<WorkerId, u32> =
        serving.filter_map(|entry| Some((path::worker_of(&entry.path)?, 0))).collect();
    for shard in world.store().documents(&path::shards()) {
        let owner = record::read(&shard).ok().and_then(|shard: Shard| shard.owner);
        owner.and_then(|owner| shares.get_mut(&owner)).into_iter().for_each(|share| *share += 1);
    }
    let (least, most) = (shares.values().min()?, shares.values().max()?);
    (most - least > 1).then(|| format!("the clusters are not shared evenly: {shares:?}"))
}

/// True for a record that is there when it is needed, and only then. Of a context that is there, lanes may be left where it was
/// before.
fn is_exact(wanted: &[AppContext], path: &str) -> bool {
    let mut segments = path.split('/');
    match segments.next() {
        Some("claims" | "claiming" | "contexts" | "results") => true,
        Some("lanes" | "manifests") => {
            let context = segments.next();
            !wanted.iter().any(|wanted| Some(wanted.id.as_str()) == context)
        }
        _ => false,
    }
}

/// The claims on a bundle's namespaces, and the results of its requests.
fn of_bundle<'a>(
    context: &'a AppContext,
    cluster: &'a ClusterId,
    bundle: &'a Bundle,
) -> impl Iterator<Item = String> + 'a {
    bundle.steps().iter().filter_map(move |step| match &step.action {
        Action::Apply { manifest, .. } if manifest.kind().is_namespace() => {
            Some(path::claim(cluster, &manifest.key().name).as_str().to_owned())
        }
        Action::Apply { .. } | Action::Edit { .. } => None,
        Action::Request { name, .. } => Some(path::result(&context.id, cluster, name).as_str().to_owned()),
    })
}

/// What the records say of a cluster's objects.
pub(in crate::simulation) fn recorded(world: &World<'_>, cluster: &ClusterId) -> Records {
    let documents = world.store().documents(&Prefix::everything());
    let lanes = documents.iter().filter(|entry| {
        entry.path.segments().next() == Some("lanes")
            && path::cluster_of(&entry.path).as_ref() == Some(cluster)
    });
    lanes.filter_map(|entry| record::read::<Lane>(entry).ok()).flat_map(|lane| lane.objects).collect()
}

/// True when an event is nothing that a converged fleet may not do: the signs of life of its workers.
pub(in crate::simulation) fn is_quiet(event: &Event) -> bool {
    match event {
        Event::Stored(write) => {
            let (Write::Create { path, .. } | Write::Update { path, .. } | Write::Delete { path, .. }) =
                write;
            path.segments().next() == Some("workers")
        }
        Event::Sent(_)
        | Event::Ended(_)
        | Event::Handled(_)
        | Event::Looked(_)
        | Event::Halted(_)
        | Event::Spun(_) => false,
    }
}
