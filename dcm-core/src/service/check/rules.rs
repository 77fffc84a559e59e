//! What the documents of the services have to be to each other.

use std::collections::BTreeSet;

use crate::check::{Rule, Suspicion};
use crate::port::store::{Path, Version};
use crate::service::documents::DocumentId;
use crate::service::path;

use super::facts::{Facts, RootFacts, Stage, Standing};

/// Looks at everything.
pub(super) fn judge(facts: &Facts, suspicions: &mut Vec<Suspicion>) {
    for root in facts.roots.values() {
        project_is_there(facts, root, suspicions);
        match &root.stage {
            Stage::Standing(standing) => {
                named_is_there(facts, root, standing, suspicions);
                keys_are_there(facts, root, standing, suspicions);
                if !standing.is_terminated {
                    nothing_is_left(facts, root, standing, suspicions);
                }
            }
            Stage::Reserved => suspicions.push(cut_off(root, "the logical cloud was not made to its end")),
            Stage::Deleting => suspicions.push(cut_off(root, "the logical cloud was not deleted to its end")),
        }
    }
    belongs_to_a_root(facts, suspicions);
}

fn of_root(root: &RootFacts, rule: Rule, what: impl Into<String>) -> Suspicion {
    Suspicion::new(&root.place.root(), root.version, rule, what)
}

fn cut_off(root: &RootFacts, what: &str) -> Suspicion {
    of_root(root, Rule::CutOff, what).cleared_by("the same command again")
}

fn project_is_there(facts: &Facts, root: &RootFacts, suspicions: &mut Vec<Suspicion>) {
    let path = path::project(&root.place.project);
    if !facts.there.contains_key(&path) {
        let what = format!("there is no project {}", root.place.project);
        suspicions.push(of_root(root, Rule::Missing, what).without(path));
    }
}

/// Lists of parts, their parts, snapshots, and the owner of the app context.
fn named_is_there(facts: &Facts, root: &RootFacts, standing: &Standing, suspicions: &mut Vec<Suspicion>) {
    let place = &root.place;
    let mut missing = |path: Path| {
        if !facts.there.contains_key(&path) {
            suspicions.push(of_root(root, Rule::Missing, format!("{path} is not there")).without(path));
        }
    };
    standing.contents.iter().for_each(|contents| missing(place.contents(contents)));
    standing.snapshots.iter().for_each(|snapshot| missing(place.snapshot(snapshot)));
    if standing.has_owner {
        missing(path::context_owner(&place.context_id()));
    }
    for contents in &standing.contents {
        parts_are_there(facts, root, contents, suspicions);
    }
}

fn parts_are_there(facts: &Facts, root: &RootFacts, contents: &DocumentId, suspicions: &mut Vec<Suspicion>) {
    let place = &root.place;
    let Some(ids) = facts.contents.get(&(place.clone(), contents.clone())) else { return };
    let known = facts.parts.get(place);
    let list = place.contents(contents);
    let is_known = |id: &DocumentId| known.is_some_and(|known| known.contains_key(id));
    for id in ids.iter().filter(|id| !is_known(id) && !facts.is_part_unread(place, id)) {
        let what = format!("part {id} is not there");
        let version = facts.there.get(&list).copied().unwrap_or(root.version);
        let suspicion = Suspicion::new(&list, version, Rule::Missing, what);
        suspicions.push(suspicion.resting_on(place.root(), root.version));
    }
}

/// The credentials that snapshots name, and the root authority of their mesh.
fn keys_are_there(facts: &Facts, root: &RootFacts, standing: &Standing, suspicions: &mut Vec<Suspicion>) {
    let place = &root.place;
    let snapshots = facts.snapshots.get(place).into_iter().flatten();
    for (_, snapshot) in snapshots.filter(|(id, _)| standing.snapshots.contains(*id)) {
        let credentials = snapshot.users.iter().map(|user| place.credential(user));
        let root_authority = snapshot.has_authorities.then(|| place.root_authority());
        for path in credentials.chain(root_authority) {
            if !facts.there.contains_key(&path) {
                let what = format!("{path} is not there");
                let suspicion = Suspicion::new(&snapshot.path, snapshot.version, Rule::Missing, what);
                suspicions.push(suspicion.resting_on(place.root(), root.version).without(path));
            }
        }
    }
}

/// Parts and snapshots that nothing names.
fn nothing_is_left(facts: &Facts, root: &RootFacts, standing: &Standing, suspicions: &mut Vec<Suspicion>) {
    let place = &root.place;
    let mut used: BTreeSet<&DocumentId> = standing.contents.iter().collect();
    for contents in &standing.contents {
        match facts.contents.get(&(place.clone(), contents.clone())) {
            Some(parts) => used.extend(parts),
            // What it names is not known.
            None => return,
        }
    }
    let unused = |path: &Path, version: Version, by: &'static str| {
        let what = "nothing names it: an edit or an apply was cut off, or what cleared up after it";
        Suspicion::new(path, version, Rule::Unused, what)
            .cleared_by(by)
            .resting_on(place.root(), root.version)
    };
    let parts = facts.parts.get(place).into_iter().flatten();
    for (_, (path, version)) in parts.filter(|(id, _)| !used.contains(id)) {
        suspicions.push(unused(path, *version, "the next edit of the logical cloud"));
    }
    let snapshots = facts.snapshots.get(place).into_iter().flatten();
    for (_, snapshot) in snapshots.filter(|(id, _)| !standing.snapshots.contains(*id)) {
        suspicions.push(unused(&snapshot.path, snapshot.version, "the next apply of the logical cloud"));
    }
}

/// What belongs to a logical cloud that is not there. While a deletion is remembered, workers clear what comes late.
fn belongs_to_a_root(facts: &Facts, suspicions: &mut Vec<Suspicion>) {
    for (place, path, version) in &facts.belongings {
        let is_known = facts.root_of(place).is_some() || facts.is_root_unread(place);
        if is_known || facts.deleted.contains(place) {
            continue;
        }
        let what = format!(
            "there is no logical cloud {} of project {} with UID {}",
            place.cloud, place.project, place.uid
        );
        let suspicion = Suspicion::new(path, *version, Rule::Orphaned, what);
        let root = place.root();
        suspicions.push(
            match facts.there.get(&root) {
                Some(version) => suspicion.resting_on(root, *version),
                None => suspicion.without(root),
            }
            .without(place.deleted()),
        );
    }
}
