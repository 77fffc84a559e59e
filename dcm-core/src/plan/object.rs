//! Choices about objects: make, bring to the desired state, adopt, delete, give back, leave alone.

use std::cmp::Reverse;

use super::view::{Recorded, Seen, Sighting, View};
use super::{Records, Rules, Step, Wave, Why, Work, may_adopt, request};
use crate::app_context::Existing;
use crate::manifest::{GroupVersionKind, Manifest, ObjectKey};
use crate::port::cluster::Origin;
use crate::port::synchronizer::Disposal;
use crate::status::{Cause, Reason};

/// What is left to do for a desired object; none when it is as desired.
pub(super) fn desire(
    rules: &Rules<'_>,
    wave: Wave,
    manifest: &Manifest,
    existing: Existing,
    recorded: &Records,
    view: &dyn View,
) -> Option<Step> {
    let record = recorded.get(manifest.key());
    let (work, why) = match view.see(manifest.key()) {
        Seen::Present(sighting) => present(rules, manifest, existing, record, sighting)?,
        Seen::Unlisted if record.is_some_and(|record| record.uid.is_some()) => (Work::Look, Why::NotListed),
        Seen::Absent if record.is_some_and(|record| record.uid.is_some()) => gone(rules, manifest),
        Seen::Unlisted | Seen::Absent => (Work::Create { manifest: manifest.clone() }, Why::Missing),
    };
    Some(step(wave, manifest.kind(), manifest.key(), work, why))
}

fn step(wave: Wave, kind: &GroupVersionKind, key: &ObjectKey, work: Work, why: Why) -> Step {
    Step { wave, kind: kind.clone(), key: key.clone(), work, why }
}

/// A recorded object that is not there any more: made again, but for a namespace, whose contents are lost.
fn gone(rules: &Rules<'_>, manifest: &Manifest) -> (Work, Why) {
    if manifest.kind().is_namespace() && !rules.remake_namespaces {
        let message = "the namespace was deleted by somebody else; apply again to have it made anew";
        return (Work::Blocked(cause(Reason::NamespaceGone, message, manifest.key())), Why::AlreadyGone);
    }
    (Work::Unrecord, Why::Missing)
}

/// What to do with an object that is there.
fn present(
    rules: &Rules<'_>,
    manifest: &Manifest,
    existing: Existing,
    record: Option<&Recorded>,
    sighting: &Sighting,
) -> Option<(Work, Why)> {
    if !is_ours(rules, record, sighting) {
        return Some(foreign(rules, manifest, existing, sighting));
    }
    if sighting.deleting.is_some() {
        return Some((Work::Await(going(manifest.key(), sighting)), Why::Going));
    }
    let written = sighting.marks.as_ref().filter(|marks| marks.context == *rules.context);
    if written.and_then(|marks| marks.manifest) == Some(manifest.hash()) {
        let message = sighting.unready.as_ref()?;
        return Some((Work::Await(cause(Reason::Waiting, message, manifest.key())), Why::NotReady));
    }
    let origin = record.map(|record| record.origin).or(written.map(|marks| marks.origin)).unwrap_or_default();
    let why = if written.is_some() { Why::ManifestChanged } else { Why::MarksChanged };
    Some((update(manifest, sighting, origin), why))
}

pub(super) fn update(manifest: &Manifest, sighting: &Sighting, origin: Origin) -> Work {
    Work::Update { manifest: manifest.clone(), observed: sighting.precondition(), origin }
}

/// Ownership is proved by the recorded UID, or by our marks where no UID is recorded yet.
pub(super) fn is_ours(rules: &Rules<'_>, record: Option<&Recorded>, sighting: &Sighting) -> bool {
    match record.and_then(|record| record.uid.as_ref()) {
        Some(uid) => *uid == sighting.uid,
        None => is_marked(rules, sighting),
    }
}

fn is_marked(rules: &Rules<'_>, sighting: &Sighting) -> bool {
    sighting
        .marks
        .as_ref()
        .is_some_and(|marks| marks.owner == *rules.owner && marks.context == *rules.context)
}

/// An object that is not ours: adopted where that is asked for and nobody else claims it, else left alone.
fn foreign(rules: &Rules<'_>, manifest: &Manifest, existing: Existing, sighting: &Sighting) -> (Work, Why) {
    let message = match &sighting.marks {
        Some(marks) if is_marked(rules, sighting) => format!(
            "it carries our marks (generation {}) but is another object than the recorded one",
            marks.generation
        ),
        Some(marks) => format!("it belongs to app context {} of owner {}", marks.context, marks.owner),
        None if may_adopt(existing) => return (update(manifest, sighting, Origin::Adopted), Why::Adopted),
        None => "it was there before, and is not ours".to_owned(),
    };
    (Work::Blocked(cause(Reason::Foreign, &message, manifest.key())), Why::NotOurs)
}

/// What is left to do for an object that is not desired; none when nothing can be done for it but to forget.
pub(super) fn remove(rules: &Rules<'_>, key: &ObjectKey, record: &Recorded, view: &dyn View) -> Option<Step> {
    let wave = Wave::Remove(Reverse(record.stage));
    let make = |work, why| Some(step(wave, &record.kind, key, work, why));
    let sighting = match view.see(key) {
        Seen::Unlisted => return make(Work::Look, Why::NotListed),
        Seen::Absent => return make(Work::Forget, Why::AlreadyGone),
        Seen::Present(sighting) => sighting,
    };
    if !is_ours(rules, Some(record), sighting) {
        return make(Work::Forget, Why::NotOurs);
    }
    if sighting.deleting.is_some() {
        return make(Work::Await(going(key, sighting)), Why::Going);
    }
    let observed = sighting.precondition();
    if record.origin == Origin::Adopted {
        return make(Work::Release { observed, contents: None }, Why::WasAdopted);
    }
    // What was asked for through a request is no object that anybody keeps.
    if rules.removal.disposal() == Disposal::Keep && !request::is_request(&record.kind) {
        return make(Work::Release { observed, contents: None }, Why::Kept);
    }
    if record.kind.is_namespace() && !rules.removal.delete_contents {
        match view.contents(&key.name) {
            None => return make(Work::Count, Why::NotDesired),
            Some(contents) if contents.count > 0 => {
                return make(Work::Release { observed, contents: Some(contents.count) }, Why::HoldsContents);
            }
            Some(_) => {}
        }
    }
    make(Work::Delete { observed }, Why::NotDesired)
}

/// What an object waits for that is being deleted: its finalizers, and what the cluster says of them.
fn going(key: &ObjectKey, sighting: &Sighting) -> Cause {
    let mut message = "it is being deleted".to_owned();
    if let Some(finalizers) = sighting.deleting.as_ref().filter(|finalizers| !finalizers.is_empty()) {
        message.push_str(&format!(" and held by {}", finalizers.join(", ")));
    }
    if let Some(remains) = &sighting.unready {
        message.push_str(&format!(": {remains}"));
    }
    cause(Reason::Waiting, &message, key)
}

pub(super) fn cause(reason: Reason, message: &str, key: &ObjectKey) -> Cause {
    Cause { reason, message: message.into(), object: Some(key.clone()), next_try: None }
}
