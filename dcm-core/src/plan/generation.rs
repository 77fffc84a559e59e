//! What the generations on objects tell: which change wrote each of them last.
//!
//! A store that was lost, or restored from an old copy, does not know of changes that clusters hold already. What it
//! wants is then not what somebody wanted last: nothing is written before a person has said whose state is true.

use std::collections::{BTreeMap, BTreeSet};

use super::object::{self, cause};
use super::request::is_request;
use super::view::{Seen, Sighting, View};
use super::{Records, Rules, Step, Terms, Wave, Why, Work, manifests};
use crate::app_context::{self, Generation, Stage};
use crate::hash::ContentHash;
use crate::manifest::{GroupVersionKind, ObjectKey};
use crate::port::cluster::{Marks, Origin};
use crate::status::Reason;

/// The newest generation that the cluster holds and the store does not know of.
///
/// That is one above the wanted one; or the wanted one itself, on an object that is not wanted so: a store that is
/// behind has counted on, and given the number a second time.
pub(super) fn ahead(rules: &Rules<'_>, desired: &[app_context::Step], view: &dyn View) -> Option<Generation> {
    let wanted = rules.generation?;
    let marked = view.marked();
    let newer = marked
        .iter()
        .filter_map(|(kind, key, sighting)| Some((kind, key, sighting, sighting.marks.as_ref()?)));
    let mut newer = newer.filter(|(.., marks)| marks.generation >= wanted).peekable();
    newer.peek()?;
    let hashes: BTreeMap<&ObjectKey, ContentHash> =
        manifests(desired).map(|(_, manifest)| (manifest.key(), manifest.hash())).collect();
    let is_ahead = |kind: &GroupVersionKind, key: &ObjectKey, sighting: &Sighting, marks: &Marks| {
        let is_other = marks.manifest.is_some() && marks.manifest.as_ref() != hashes.get(key);
        // The engine itself writes a binding that is being deleted without its subjects, as no store wants it.
        let is_disarmed = key.is_binding() && sighting.deleting().is_some();
        marks.generation > wanted || (is_other && !is_request(kind) && !is_disarmed)
    };
    let ahead = newer.filter(|(kind, key, sighting, marks)| is_ahead(kind, key, sighting, marks));
    ahead.map(|(.., marks)| marks.generation).max()
}

/// Instead of what would be done, what it is: the differences between the store and a cluster that is ahead of it. What
/// has to be looked at for that comes first, so that all of them are told together.
pub(super) fn halted(ahead: Generation, steps: Vec<Step>, rules: &Rules<'_>, view: &dyn View) -> Vec<Step> {
    let wanted = rules.generation.unwrap_or_default();
    if steps.iter().any(|step| step.work == Work::Look) {
        return steps.into_iter().filter(|step| step.work == Work::Look).map(at_once).collect();
    }
    let mut told = BTreeSet::new();
    let mut halted: Vec<Step> = Vec::new();
    for step in steps.into_iter().filter(|step| step.wave != Wave::Tidy) {
        told.insert(step.key.clone());
        if let Some(work) = withdrawal(&step, rules, view) {
            halted.push(at_once(Step { work, why: Why::NotDesired, ..step }));
            continue;
        }
        let work = match difference(&step.work) {
            None => step.work,
            Some(words) => {
                Work::Blocked(cause(Reason::StoreBehind, &behind(ahead, wanted, words), &step.key))
            }
        };
        halted.push(at_once(Step { work, ..step }));
    }
    for (kind, key, sighting) in view.marked() {
        let is_newer = sighting.marks.as_ref().is_some_and(|marks| marks.generation > wanted);
        if is_newer && !told.contains(key) {
            let words = "it is as the store wants it, and was written later";
            let work = Work::Blocked(cause(Reason::StoreBehind, &behind(ahead, wanted, words), key));
            halted.push(Step {
                wave: FIRST,
                kind: kind.clone(),
                key: key.clone(),
                work,
                why: Why::StoreBehind,
            });
        }
    }
    halted
}

/// What takes a right away that is wanted no more, where a person asked for that; none for what may give or change anything.
///
/// A binding that is not as wanted is deleted, and not changed: the store may not know of a revocation, and would give back
/// what that took. One that is being deleted already loses its subjects.
fn withdrawal(step: &Step, rules: &Rules<'_>, view: &dyn View) -> Option<Work> {
    match &step.work {
        Work::Update { observed, origin: Origin::Created, .. }
            if rules.withdraws && step.key.is_binding() =>
        {
            match view.see(&step.key) {
                Seen::Present(sighting) if sighting.deleting().is_some() => {
                    object::disarmed(&step.kind, &step.key, sighting)
                }
                _ => Some(Work::Delete { observed: observed.clone() }),
            }
        }
        Work::Delete { .. } if rules.withdraws && (step.key.is_binding() || step.key.is_account()) => {
            Some(step.work.clone())
        }
        _ => None,
    }
}

/// All differences are told together.
const FIRST: Wave = Wave::Apply(Stage(0));

fn at_once(step: Step) -> Step {
    Step { wave: FIRST, ..step }
}

fn behind(ahead: Generation, wanted: Generation, difference: &str) -> String {
    format!("the cluster holds generation {ahead}, the store wants {wanted}: {difference}")
}

/// What a step shows to be different; none for what may go on, or tells its own cause.
fn difference(work: &Work) -> Option<&'static str> {
    match work {
        Work::Look | Work::Await(_) | Work::Blocked(_) | Work::RecordEdit { stub: Some(_), .. } => None,
        Work::Count { .. } => Some("it is not wanted, and would be deleted if nothing else is in it"),
        Work::Create { .. } => Some("it is not there, and would be made"),
        Work::Update { .. } => Some("it is another one, and would be overwritten"),
        Work::Delete { .. } => Some("it is not wanted, and would be deleted"),
        Work::Release { .. } => Some("it is not wanted, and would be released"),
        Work::Edit { stub: Some(_), .. } => Some("a part of it is another one, and would be changed"),
        Work::Edit { stub: None, .. } => Some("a part of it is not wanted, and would be taken out"),
        Work::Forget | Work::RecordEdit { stub: None, .. } => Some("it is recorded, and not there"),
        Work::Unrecord => Some("it is recorded and not there, and would be made again"),
        Work::Request { .. } => Some("it is not answered, and would be asked for"),
    }
}

/// A change that only takes away would leave no sign on the cluster that it happened, and one that deletes a binding none before that.
/// So it is written on the namespace before, or on another object that stays.
pub(super) fn sign(
    rules: &Rules<'_>,
    desired: &[app_context::Step],
    steps: &[Step],
    recorded: &Records,
    view: &dyn View,
) -> Option<Step> {
    let generation = rules.generation?;
    let takes_away =
        |step: &Step| matches!(step.wave, Wave::Remove(_)) && step.work.is_write() && !is_request(&step.kind);
    let writes = |step: &Step| matches!(step.work, Work::Create { .. } | Work::Update { .. });
    // A binding may be deleted before anything else is written.
    let deletes_binding = |step: &Step| takes_away(step) && step.key.is_binding();
    if !steps.iter().any(takes_away) || (steps.iter().any(writes) && !steps.iter().any(deletes_binding)) {
        return None;
    }
    let is_signed =
        |sighting: &Sighting| sighting.marks.as_ref().is_some_and(|marks| marks.generation == generation);
    if view.marked().iter().any(|(_, _, sighting)| is_signed(sighting)) {
        return None;
    }
    let mut staying = manifests(desired).filter_map(|(stage, manifest)| {
        let Seen::Present(sighting) = view.see(manifest.key()) else { return None };
        let record = recorded.get(manifest.key());
        let is_made = record.is_none_or(|record| record.origin == Origin::Created);
        let is_ours = is_made
            && object::is_ours(rules, manifest.key(), record, sighting)
            && sighting.deleting().is_none();
        is_ours.then_some((stage, manifest, sighting))
    });
    let (stage, manifest, sighting) = staying.next()?;
    // What others say of it stays theirs: only the generation is written.
    let left = sighting.fields().to_vec();
    let terms = Terms { force: true, left, ..Terms::default() };
    let work = object::update(manifest, sighting, Origin::Created, terms);
    let (kind, key) = (manifest.kind().clone(), manifest.key().clone());
    Some(Step { wave: Wave::Apply(stage), kind, key, work, why: Why::TakesAway })
}
