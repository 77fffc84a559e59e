//! What the engine's records have to be to each other.

use std::collections::{BTreeMap, BTreeSet};

use dcm_core::check::{Rule, Suspicion};
use dcm_core::name::ContextId;
use dcm_core::port::store::{Path, Version};

use super::facts::{ClaimFacts, Facts, Named, RootFacts};
use crate::record::{Answer, path};

/// What clears records of an app context that its root does not name.
const NEXT_APPLY: &str = "the next apply of the app context, or its end";

/// Looks at everything.
pub(super) fn judge(facts: &Facts, suspicions: &mut Vec<Suspicion>) {
    for (context, root) in &facts.roots {
        manifests_are_there(facts, context, root, suspicions);
        claims_are_held(facts, context, root, suspicions);
        if root.is_forgetting {
            let suspicion =
                of_root(context, root, Rule::CutOff, "it is being forgotten, and was not to its end");
            suspicions.push(suspicion.cleared_by("the same deletion again, or the next apply"));
        }
    }
    for path in facts.there.keys() {
        belongs_to_a_root(facts, path, suspicions);
    }
    manifests_are_named(facts, suspicions);
    lanes_follow_their_root(facts, suspicions);
    results_are_named(facts, suspicions);
    claims_are_named(facts, suspicions);
    for context in facts.claiming.keys().filter(|context| facts.roots.contains_key(*context)) {
        let path = path::claiming(context);
        let what = "an apply was about to claim namespaces, and did not come to its end";
        suspicions.extend(of(facts, &path, Rule::CutOff, what).map(|one| one.cleared_by(NEXT_APPLY)));
    }
}

fn of_root(context: &ContextId, root: &RootFacts, rule: Rule, what: impl Into<String>) -> Suspicion {
    Suspicion::new(&path::root(context), root.version, rule, what)
}

/// Something about a record that is there.
fn of(facts: &Facts, path: &Path, rule: Rule, what: impl Into<String>) -> Option<Suspicion> {
    let version = facts.there.get(path)?;
    Some(Suspicion::new(path, *version, rule, what))
}

/// Adds that it follows from this record, as it is or is not there.
fn resting(suspicion: Suspicion, path: Path, version: Option<Version>) -> Suspicion {
    match version {
        Some(version) => suspicion.resting_on(path, version),
        None => suspicion.without(path),
    }
}

/// While it is wanted, the manifests of its bundles. What is removed is known from the lanes.
fn manifests_are_there(
    facts: &Facts,
    context: &ContextId,
    root: &RootFacts,
    suspicions: &mut Vec<Suspicion>,
) {
    for hash in root.manifests().into_iter().filter(|_| root.is_present) {
        let path = path::manifest(context, hash);
        if !facts.there.contains_key(&path) {
            let what = format!("{path} is not there");
            suspicions.push(of_root(context, root, Rule::Missing, what).without(path));
        }
    }
}

/// While it is wanted, its namespaces are claimed for it.
fn claims_are_held(facts: &Facts, context: &ContextId, root: &RootFacts, suspicions: &mut Vec<Suspicion>) {
    let Some(named) = facts.named(context, root).filter(|_| root.is_present) else { return };
    for path in paths(&named) {
        let version = facts.there.get(&path).copied();
        let (rule, what) = match facts.claims.get(&path) {
            Some(claim) if claim.context == *context => continue,
            Some(claim) => (Rule::Taken, format!("{path} is for {}", claim.context)),
            None if version.is_some() => continue,
            None => (Rule::Missing, format!("{path} is not there")),
        };
        suspicions.push(resting(of_root(context, root, rule, what), path, version));
    }
}

fn paths(named: &Named) -> impl Iterator<Item = Path> + '_ {
    named.iter().flat_map(|(cluster, names)| names.iter().map(|name| path::claim(cluster, name)))
}

/// Manifests, lanes, results and the like of an app context without a root.
fn belongs_to_a_root(facts: &Facts, path: &Path, suspicions: &mut Vec<Suspicion>) {
    let claim = facts.claims.get(path).map(|claim| &claim.context);
    let Some(context) = claim.cloned().or_else(|| path::context_of(path)) else { return };
    let root = path::root(&context);
    if facts.there.contains_key(&root) || facts.is_unread(path) {
        return;
    }
    let what = format!("there is no app context {context}: it came late of one that is forgotten");
    let suspicion = of(facts, path, Rule::Orphaned, what).map(|suspicion| suspicion.without(root));
    suspicions.extend(suspicion.map(|suspicion| match claim {
        Some(_) => suspicion.cleared_by("whoever claims the namespace next"),
        None => suspicion,
    }));
}

fn manifests_are_named(facts: &Facts, suspicions: &mut Vec<Suspicion>) {
    let mut named: BTreeMap<&ContextId, BTreeSet<Path>> = BTreeMap::new();
    for (context, root) in &facts.roots {
        let paths = root.manifests().into_iter().map(|hash| path::manifest(context, hash));
        named.insert(context, paths.collect());
    }
    for path in facts.there.keys().filter(|path| path::hash_of_manifest(path).is_some()) {
        let Some(context) = path::context_of(path) else { continue };
        let (Some(root), Some(named)) = (facts.roots.get(&context), named.get(&context)) else { continue };
        if !named.contains(path) {
            let what = "its app context names it no more: a change was cut off, or what cleared up after it";
            let suspicion = of(facts, path, Rule::Unused, what).map(|one| one.cleared_by(NEXT_APPLY));
            suspicions.extend(suspicion.map(|one| one.resting_on(path::root(&context), root.version)));
        }
    }
}

/// A lane is never further than its root, and what it says was issued is stored.
fn lanes_follow_their_root(facts: &Facts, suspicions: &mut Vec<Suspicion>) {
    for ((context, cluster), lane) in &facts.lanes {
        let Some(root) = facts.roots.get(context) else { continue };
        let path = path::lane(context, cluster);
        let suspect = |rule, what: String| {
            Suspicion::new(&path, lane.version, rule, what).resting_on(path::root(context), root.version)
        };
        if lane.generation > root.generation {
            let what =
                format!("it is of generation {}, and its root of {}", lane.generation.0, root.generation.0);
            suspicions.push(suspect(Rule::Ahead, what));
        }
        let has_results = root.wants(cluster) && Some(lane.generation) > root.without_results;
        for Answer { name: request, .. } in lane.issued.iter().filter(|_| has_results) {
            let result = path::result(context, cluster, request);
            if !facts.there.contains_key(&result) {
                let what = format!("{result} is not there, the result of {request}");
                suspicions.push(suspect(Rule::Missing, what).without(result));
            }
        }
    }
}

fn results_are_named(facts: &Facts, suspicions: &mut Vec<Suspicion>) {
    for (context, cluster, request) in &facts.results {
        let lane = path::lane(context, cluster);
        if !facts.roots.contains_key(context) || facts.is_unread(&lane) {
            continue;
        }
        let known = facts.lanes.get(&(context.clone(), cluster.clone()));
        if known.is_some_and(|lane| lane.may_have(request)) {
            continue;
        }
        let path = path::result(context, cluster, request);
        let what =
            format!("no record names it, the result of {request}: its worker died when it had stored it");
        let suspicion = of(facts, &path, Rule::Unused, what);
        let suspicion =
            suspicion.map(|one| one.cleared_by("the cluster's worker, when it does something else there"));
        suspicions.extend(suspicion.map(|one| resting(one, lane, known.map(|lane| lane.version))));
    }
}

/// A claim that its app context knows nothing of keeps others from the namespace.
fn claims_are_named(facts: &Facts, suspicions: &mut Vec<Suspicion>) {
    let mut named: BTreeMap<&ContextId, Option<BTreeSet<Path>>> = BTreeMap::new();
    for (context, root) in &facts.roots {
        let of_root = facts.named(context, root).map(|wanted| {
            let claiming = facts.claiming.get(context).into_iter();
            [&wanted, &root.leaving].into_iter().chain(claiming).flat_map(paths).collect()
        });
        named.insert(context, of_root);
    }
    for (path, ClaimFacts { context, cluster }) in &facts.claims {
        let (Some(root), Some(Some(named))) = (facts.roots.get(context), named.get(context)) else {
            continue;
        };
        let lane_path = path::lane(context, cluster);
        let claiming = path::claiming(context);
        let lane = facts.lanes.get(&(context.clone(), cluster.clone()));
        let is_of_lane = |name: &str| lane.is_some_and(|lane| lane.namespaces.contains(name));
        let name = path.segments().next_back().unwrap_or_default();
        let is_unknown = facts.is_unread(&lane_path) || facts.is_unread(&claiming);
        if named.contains(path) || is_of_lane(name) || is_unknown {
            continue;
        }
        let what = format!("app context {context} knows nothing of it, and others can't have the namespace");
        let Some(suspicion) = of(facts, path, Rule::Unused, what) else { continue };
        let suspicion = suspicion.resting_on(path::root(context), root.version);
        let suspicion = resting(suspicion, lane_path, lane.map(|lane| lane.version));
        suspicions.push(resting(suspicion, claiming.clone(), facts.there.get(&claiming).copied()));
    }
}
