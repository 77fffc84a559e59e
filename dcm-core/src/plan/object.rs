//! Choices about objects: make, bring to the desired state, adopt, delete, give back, leave alone.

use std::cmp::Reverse;

use serde_json::json;

use super::drift;
use super::view::{Recorded, Seen, Sighting, View};
use super::{Records, Rules, Step, Terms, Wanted, Wave, Why, Work, request};
use crate::app_context::Existing;
use crate::manifest::{GroupVersionKind, Manifest, ObjectKey};
use crate::port::answer::clean;
use crate::port::cluster::{Contents, Origin};
use crate::port::synchronizer::Disposal;
use crate::status::{Cause, Reason};

/// What was chosen for a desired object.
#[derive(Default)]
pub(super) struct Chosen {
    /// What is left to do; none when it is as desired, or as it is to be left.
    pub(super) step: Option<Step>,
    /// What somebody else changed, and is only reported.
    pub(super) drift: Option<Cause>,
}

/// Chooses for a desired object.
pub(super) fn desire(
    rules: &Rules<'_>,
    wave: Wave,
    wanted: &Wanted<'_>,
    recorded: &Records,
    view: &dyn View,
) -> Chosen {
    let manifest = wanted.manifest;
    let record = recorded.get(manifest.key());
    let is_expected = record.is_some_and(Recorded::is_expected);
    let chosen = match view.see(manifest.key()) {
        Seen::Present(sighting) if is_kept(manifest, record, sighting, view) => {
            let terms = Terms { taken: sighting.fields().to_vec(), ..terms(wanted, Origin::Created) };
            Choice::do_this(update(manifest, sighting, Origin::Created, terms), Why::TakenBack)
        }
        Seen::Present(sighting) => present(rules, wanted, record, sighting, view),
        Seen::Unlisted if is_expected => Choice::do_this(Work::Look, Why::NotListed),
        Seen::Absent if is_expected && is_over(manifest, record) => Choice::default(),
        Seen::Absent if is_expected => gone(rules, wanted, view),
        Seen::Unlisted | Seen::Absent => {
            Choice::do_this(Work::Create { manifest: manifest.clone() }, Why::Missing)
        }
    };
    let step = chosen.work.map(|(work, why)| step(wave, manifest.kind(), manifest.key(), work, why));
    Chosen { step, drift: chosen.drift }
}

/// Chooses for a desired object in a namespace that is somebody else's: what is there is only told of what is ours.
pub(super) fn desire_what_is_ours(
    rules: &Rules<'_>,
    wave: Wave,
    wanted: &Wanted<'_>,
    recorded: &Records,
    view: &dyn View,
) -> Chosen {
    let (kind, key) = (wanted.manifest.kind(), wanted.manifest.key());
    let record = recorded.get(key);
    if matches!(view.see(key), Seen::Present(sighting) if is_ours(rules, key, record, sighting)) {
        return desire(rules, wave, wanted, recorded, view);
    }
    let waits = cause(Reason::Waiting, "it is not looked at before its namespace is ours", key);
    Chosen { step: Some(step(wave, kind, key, Work::Await(waits), Why::NotOurs)), drift: None }
}

fn step(wave: Wave, kind: &GroupVersionKind, key: &ObjectKey, work: Work, why: Why) -> Step {
    Step { wave, kind: kind.clone(), key: key.clone(), work, why }
}

/// A choice before it has its place in the plan.
#[derive(Default)]
pub(super) struct Choice {
    pub(super) work: Option<(Work, Why)>,
    pub(super) drift: Option<Cause>,
}

impl Choice {
    pub(super) fn do_this(work: Work, why: Why) -> Self {
        Self { work: Some((work, why)), drift: None }
    }
}

/// True for a namespace that this app context made and gave up when it was removed, as long as nobody else claims it.
fn is_kept(manifest: &Manifest, record: Option<&Recorded>, sighting: &Sighting, view: &dyn View) -> bool {
    let is_recorded = record.is_some_and(|record| record.uid.is_some());
    let is_free = sighting.marks.is_none() && sighting.claimed_by().is_none();
    let is_it = || view.kept(&manifest.key().name) == Some(&sighting.uid);
    manifest.kind().is_namespace() && !is_recorded && is_free && is_it()
}

/// True for a Job that Kubernetes removes by itself once it is finished, and that was written as it is desired: made again, it would run
/// again.
fn is_over(manifest: &Manifest, record: Option<&Recorded>) -> bool {
    let is_job = &*manifest.kind().group == "batch" && &*manifest.kind().kind == "Job";
    let is_removed_in_time = manifest.body()["spec"]["ttlSecondsAfterFinished"].is_number();
    is_job && is_removed_in_time && record.is_some_and(|record| record.manifest == Some(manifest.hash()))
}

/// A recorded object that is not there any more: made again, but for a namespace, whose contents are lost, and for what
/// is only reported.
fn gone(rules: &Rules<'_>, wanted: &Wanted<'_>, view: &dyn View) -> Choice {
    let key = wanted.manifest.key();
    if rules.asked_again {
        return Choice::do_this(Work::Unrecord, Why::Missing);
    }
    if wanted.manifest.kind().is_namespace() {
        let message = "the namespace was deleted by another client; apply again to have it made anew";
        return Choice::do_this(Work::Blocked(cause(Reason::NamespaceGone, message, key)), Why::AlreadyGone);
    }
    match drift::of_deletion(wanted, view) {
        Some(reported) => Choice { work: None, drift: Some(reported) },
        None => Choice::do_this(Work::Unrecord, Why::Missing),
    }
}

/// What to do with an object that is there.
fn present(
    rules: &Rules<'_>,
    wanted: &Wanted<'_>,
    record: Option<&Recorded>,
    sighting: &Sighting,
    view: &dyn View,
) -> Choice {
    let manifest = wanted.manifest;
    if !is_ours(rules, manifest.key(), record, sighting) {
        let (work, why) = foreign(rules, wanted, sighting);
        return Choice::do_this(work, why);
    }
    let written = sighting.marks.as_ref().filter(|marks| marks.context == *rules.context);
    // Until what holds it lets go, it grants what it grants: that follows what is desired all the same.
    let last = written.and_then(|marks| marks.manifest).or(record.and_then(|record| record.manifest));
    let is_outdated_right = manifest.key().is_right() && last != Some(manifest.hash());
    if sighting.deleting().is_some() && !is_outdated_right {
        return Choice::do_this(Work::Await(going(manifest.key(), sighting)), Why::Going);
    }
    let origin = record.map(|record| record.origin).or(written.map(|marks| marks.origin)).unwrap_or_default();
    if written.and_then(|marks| marks.manifest) != Some(manifest.hash()) {
        let terms = Terms { left: drift::held(wanted, sighting), ..terms(wanted, origin) };
        let work = update(manifest, sighting, origin, terms);
        if written.is_some() {
            return Choice::do_this(work, Why::ManifestChanged);
        }
        let is_written = record.is_some_and(|record| record.manifest == Some(manifest.hash()));
        // Nothing but marks is fought over for ever; what is to change goes on, whatever the marks.
        return match view.given_up_until(manifest.key()).filter(|_| is_written) {
            Some(until) => Choice { work: None, drift: Some(drift::of_marks(manifest.key(), Some(until))) },
            None => Choice::do_this(work, Why::MarksChanged),
        };
    }
    let mut chosen = drift::of_fields(wanted, origin, &sighting.drifted(record), sighting, view);
    let is_older = written.map(|marks| marks.generation) < rules.generation;
    if chosen.work.is_none() && rules.in_doubt && is_older {
        let terms = Terms { left: sighting.fields().to_vec(), ..terms(wanted, origin) };
        chosen.work = Some((update(manifest, sighting, origin, terms), Why::InDoubt));
    }
    if let (None, Some(unready)) = (&chosen.work, sighting.unready()) {
        let waits =
            cause(Reason::Waiting, &unready.message, manifest.key()).detailed(unready.whole().clone());
        chosen.work = Some((Work::Await(waits), Why::NotReady));
    }
    if chosen.work.is_none() && rules.is_watched && !record.is_some_and(Recorded::is_expected) {
        chosen.work = Some((Work::Look, Why::NotRecorded));
    }
    chosen
}

/// What we made is ours to set: a field that somebody else took meanwhile is taken back. What we adopted is not, unless
/// it was to be overwritten.
pub(super) fn terms(wanted: &Wanted<'_>, origin: Origin) -> Terms {
    let force = origin == Origin::Created || wanted.existing == Existing::Overwrite;
    Terms { force, ..Terms::default() }
}

pub(super) fn update(manifest: &Manifest, sighting: &Sighting, origin: Origin, terms: Terms) -> Work {
    Work::Update { manifest: manifest.clone(), observed: sighting.precondition(), origin, terms }
}

/// Ownership is shown by the recorded UID, or by proved marks where no UID is recorded yet, or the object with it may be gone.
///
/// A binding in the place of one that we made is ours whatever its UID: otherwise whoever deletes ours, and makes another one of its
/// name, has rights that nothing takes away.
pub(super) fn is_ours(
    rules: &Rules<'_>,
    key: &ObjectKey,
    record: Option<&Recorded>,
    sighting: &Sighting,
) -> bool {
    let Some((record, uid)) = record.and_then(|record| Some((record, record.uid.as_ref()?))) else {
        return is_marked(rules, sighting);
    };
    *uid == sighting.uid
        || (record.may_be_gone && is_marked(rules, sighting))
        || (key.is_binding() && record.origin == Origin::Created)
}

fn is_marked(rules: &Rules<'_>, sighting: &Sighting) -> bool {
    sighting
        .marks
        .as_ref()
        .is_some_and(|marks| marks.owner == *rules.owner && marks.context == *rules.context)
}

/// An object that is not ours: taken over where that is asked for and nobody else claims it, else left alone.
fn foreign(rules: &Rules<'_>, wanted: &Wanted<'_>, sighting: &Sighting) -> (Work, Why) {
    let message = match &sighting.marks {
        Some(marks) if is_marked(rules, sighting) => format!(
            "it carries our marks (generation {}) but is another object than the recorded one",
            marks.generation
        ),
        // Whoever reads this need not be told of other projects, whose names are in those of their app contexts.
        Some(marks) => format!("it belongs to another app context of owner {}", marks.owner),
        None => match sighting.claimed_by().filter(|owner| *owner != rules.owner) {
            // The proof of another installation's marks can't be checked here.
            Some(owner) => format!("it is marked as belonging to owner {owner}"),
            None => match take_over(wanted, sighting) {
                Ok(taken) => return taken,
                Err(message) => message,
            },
        },
    };
    (Work::Blocked(cause(Reason::Foreign, &message, wanted.manifest.key())), Why::NotOurs)
}

/// Takes over an object that nobody claims, or says why not.
fn take_over(wanted: &Wanted<'_>, sighting: &Sighting) -> Result<(Work, Why), String> {
    let terms = Terms { taken: sighting.fields().to_vec(), ..terms(wanted, Origin::Adopted) };
    let why = match (wanted.existing, sighting.fields()) {
        (Existing::Refuse, _) if sighting.claimed_by().is_some() => {
            return Err("it carries our marks without their proof, so it is not ours".to_owned());
        }
        (Existing::Refuse, _) => return Err("it was there before, and is not ours".to_owned()),
        (Existing::AdoptIfEqual, [first, ..]) => {
            return Err(format!("it was there before, and is not as desired: {} differs", first.path()));
        }
        (Existing::Adopt, _) | (Existing::AdoptIfEqual, []) => Why::Adopted,
        (Existing::Overwrite, _) => Why::Overwritten,
    };
    Ok((update(wanted.manifest, sighting, Origin::Adopted, terms), why))
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
    if !is_ours(rules, key, Some(record), sighting) {
        // What carries our marks and is another object stays recorded as such: without a record, marks are proof.
        return if is_marked(rules, sighting) { None } else { make(Work::Forget, Why::NotOurs) };
    }
    if sighting.deleting().is_some() {
        return match disarmed(&record.kind, key, sighting).filter(|_| record.origin == Origin::Created) {
            Some(work) => make(work, Why::StillBinds),
            None => make(Work::Await(going(key, sighting)), Why::Going),
        };
    }
    let observed = sighting.precondition();
    if record.origin == Origin::Adopted {
        return make(Work::Release { observed, origin: record.origin, contents: None }, Why::WasAdopted);
    }
    // Where no UID shows that a namespace is the one that we made, what is in it may be another's.
    let is_known = record.uid.as_ref() == Some(&sighting.uid);
    let removes_bindings = record.kind.is_namespace() && is_known && rules.removal.remove_others_bindings;
    // What was asked for through a request is no object that anybody keeps.
    if rules.removal.disposal(key) == Disposal::Keep && !request::is_request(&record.kind) {
        let contents = match view.contents(&key.name) {
            None if removes_bindings => return make(Work::Count { removes_bindings }, Why::Kept),
            Some(contents) if removes_bindings && !contents.bindings.is_empty() => {
                Some(Contents { bindings: contents.bindings.clone(), ..Contents::default() })
            }
            _ => None,
        };
        return make(Work::Release { observed, origin: record.origin, contents }, Why::Kept);
    }
    if record.kind.is_namespace() && !(is_known && rules.removal.delete_contents) {
        match view.contents(&key.name) {
            None => return make(Work::Count { removes_bindings }, Why::NotDesired),
            Some(contents) if contents.count > 0 => {
                let (origin, contents) = (record.origin, Some(contents.clone()));
                return make(Work::Release { observed, origin, contents }, Why::HoldsContents);
            }
            Some(_) => {}
        }
    }
    make(Work::Delete { observed }, Why::NotDesired)
}

/// Takes all subjects out of a binding that is being deleted: as long as a finalizer holds it, it would grant what it grants. None
/// where it has none.
pub(super) fn disarmed(kind: &GroupVersionKind, key: &ObjectKey, sighting: &Sighting) -> Option<Work> {
    let role = sighting.still_binds()?;
    let mut metadata = json!({"name": key.name});
    if let Some(namespace) = &key.namespace {
        metadata["namespace"] = json!(namespace);
    }
    let binding = json!({
        "apiVersion": kind.api_version(),
        "kind": kind.kind,
        "metadata": metadata,
        "roleRef": role,
        "subjects": [],
    });
    let terms = Terms { force: true, ..Terms::default() };
    Some(update(&Manifest::new(binding).ok()?, sighting, Origin::Created, terms))
}

/// What an object waits for that is being deleted: its finalizers, and what the cluster says of them.
fn going(key: &ObjectKey, sighting: &Sighting) -> Cause {
    let mut message = "it is being deleted".to_owned();
    if let Some(finalizers) = sighting.deleting().filter(|finalizers| !finalizers.is_empty()) {
        message.push_str(&format!(" and held by {}", clean(&finalizers.join(", "))));
    }
    let Some(remains) = sighting.unready() else { return cause(Reason::Waiting, &message, key) };
    let whole = format!("{message}: {}", remains.whole());
    cause(Reason::Waiting, &format!("{message}: {}", remains.message), key).detailed(whole)
}

pub(super) fn cause(reason: Reason, message: &str, key: &ObjectKey) -> Cause {
    Cause { object: Some(key.clone()), ..Cause::new(reason, message) }
}
