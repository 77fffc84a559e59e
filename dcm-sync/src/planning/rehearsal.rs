//! What the writes of a plan would change, by a dry run of the cluster: nothing is written.

use std::collections::{BTreeMap, BTreeSet};

use dcm_core::causes;
use dcm_core::fields::changes;
use dcm_core::manifest::{GroupVersionKind, Manifest, ObjectKey};
use dcm_core::plan::{Plan, Rehearsal, Terms, Work};
use dcm_core::port::cluster::{Call, Cluster, Error, Marks, Origin, Precondition, Stamped};

use super::live::Place;

/// What of a plan is rehearsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rehearsing {
    /// Each write, by a dry run: one request for each.
    Writes,
    /// Nothing. The plan has all that a hash or a binding is made of: who compares plans needs only what was seen.
    Nothing,
}

/// An object goes into a namespace that is not there yet.
const NO_NAMESPACE: &str = "can't be checked before its namespace exists";
/// Nobody has defined its kind yet.
const NO_DEFINITION: &str = "can't be checked before its kind is defined";
/// A binding names a role that is not there yet: whether it may be bound is told by what it gives.
const NO_ROLE: &str = "can't be checked before its role exists";
/// The cluster, or what stands for it, can't be asked what a write would do.
const NO_DRY_RUN: &str = "can't be checked: the cluster makes no dry runs";
/// What an API server says, without any code of its own, of a webhook that may have side effects.
const WEBHOOK: &str = "does not support dry run";
/// Somebody writes it in this moment.
const CHANGED: &str = "can't be checked: it is being changed";

const RBAC: &str = "rbac.authorization.k8s.io";

/// A write of a plan.
struct Write<'a> {
    object: Stamped,
    observed: Option<&'a Precondition>,
    force: bool,
}

/// Rehearses each write of a plan that makes or updates an object.
pub(super) async fn rehearse(
    cluster: &dyn Cluster,
    call: &Call,
    place: &Place<'_>,
    plan: &Plan,
) -> Result<BTreeMap<ObjectKey, Result<Rehearsal, Error>>, Error> {
    let mut rehearsals = BTreeMap::new();
    let missing = missing(plan);
    for step in plan.steps() {
        let Some(write) = write(call, place, &step.key, &step.work) else { continue };
        let rehearsal = if is_in(&step.key, &missing) {
            Ok(unchecked(NO_NAMESPACE))
        } else {
            one(cluster, call, &write, &missing).await?
        };
        rehearsals.insert(step.key.clone(), rehearsal);
    }
    Ok(rehearsals)
}

/// What a plan would make.
fn missing(plan: &Plan) -> BTreeSet<&ObjectKey> {
    let made = |work: &Work| matches!(work, Work::Create { .. } | Work::Unrecord);
    plan.steps().iter().filter(|step| made(&step.work)).map(|step| &step.key).collect()
}

/// True when an object's namespace is among those that would be made.
fn is_in(key: &ObjectKey, missing: &BTreeSet<&ObjectKey>) -> bool {
    let Some(namespace) = &key.namespace else { return false };
    missing.iter().any(|made| made.group.is_empty() && &*made.kind == "Namespace" && made.name == *namespace)
}

fn write<'a>(call: &Call, place: &Place<'_>, key: &ObjectKey, work: &'a Work) -> Option<Write<'a>> {
    let bundle = place.context.placements.get(place.cluster)?;
    let (manifest, observed, origin, terms) = match work {
        Work::Create { manifest } => (manifest, None, Origin::Created, &Terms::default()),
        Work::Unrecord => (bundle.manifest(key)?, None, Origin::Created, &Terms::default()),
        Work::Update { manifest, observed, origin, terms } => (manifest, Some(observed), *origin, terms),
        _ => return None,
    };
    let marks = Marks {
        owner: call.owner.clone(),
        context: place.context.id.clone(),
        generation: place.generation,
        manifest: Some(manifest.hash()),
        origin,
    };
    let labels = std::sync::Arc::new(place.context.labels.clone());
    // Nothing of it is kept.
    let object = Stamped { manifest: terms.manifest(manifest)?, marks, labels, proof: None };
    Some(Write { object, observed, force: terms.force })
}

async fn one(
    cluster: &dyn Cluster,
    call: &Call,
    write: &Write<'_>,
    missing: &BTreeSet<&ObjectKey>,
) -> Result<Result<Rehearsal, Error>, Error> {
    let (kind, key) = (write.object.manifest.kind(), write.object.manifest.key());
    let before = match write.observed {
        Some(_) => cluster.get(call, kind, key).await?,
        None => None,
    };
    let rehearsal = match cluster.rehearse(call, &write.object, write.observed, write.force).await {
        Ok(after) => {
            Rehearsal::Changes(before.map(|before| changes(kind, &before.body, &after)).unwrap_or_default())
        }
        Err(Error::UnknownKind { .. }) => unchecked(NO_DEFINITION),
        Err(Error::NotFound) if write.observed.is_none() => match &key.namespace {
            Some(namespace) => Rehearsal::Unchecked(causes::missing_namespace(namespace)),
            None => unchecked(NO_NAMESPACE),
        },
        Err(Error::Forbidden { .. } | Error::NotFound)
            if binds_any(kind, &write.object.manifest, missing) =>
        {
            unchecked(NO_ROLE)
        }
        Err(Error::Unsupported { .. }) => unchecked(NO_DRY_RUN),
        Err(Error::Conflict | Error::NotFound | Error::AlreadyExists) => unchecked(CHANGED),
        Err(Error::Invalid { message }) if message.contains(WEBHOOK) => unchecked(NO_DRY_RUN),
        Err(error) if error.is_about_cluster() => return Err(error),
        Err(error) => return Ok(Err(error)),
    };
    Ok(Ok(rehearsal))
}

fn unchecked(reason: &str) -> Rehearsal {
    Rehearsal::Unchecked(reason.to_owned())
}

/// True for a binding whose role would be made.
fn binds_any(kind: &GroupVersionKind, manifest: &Manifest, missing: &BTreeSet<&ObjectKey>) -> bool {
    let role = &manifest.body()["roleRef"];
    let is_role =
        |key: &&&ObjectKey| *key.group == *RBAC && role["kind"] == *key.kind && role["name"] == *key.name;
    *kind.group == *RBAC && missing.iter().any(|key| is_role(&key))
}
