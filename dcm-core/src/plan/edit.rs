//! Choices about edits: what is left to do to a part of an object that belongs to other clients.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use super::drift;
use super::object::{Chosen, cause};
use super::view::{Reading, Seen, Text, View};
use super::{Rules, Step, Wave, Why, Work};
use crate::app_context::{Bundle, DataMember, Edit, Edited, Stage};
use crate::corefile::LeftAlone;
use crate::manifest::ObjectKey;
use crate::status::{Cause, Reason};

/// When edits are undone: before anything that they lead to is taken away.
pub(super) const UNDO: Wave = Wave::Remove(Reverse(Stage(u16::MAX)));

/// Most stub domains without an answer that are recorded of one edit. One is added each time that the address changes before a write is answered.
pub const UNANSWERED_MAX: usize = 8;

/// Chooses for an edit.
pub(super) fn desire(rules: &Rules<'_>, wave: Wave, edit: &Edit, view: &dyn View) -> Chosen {
    let step = next(rules, wave, edit, view);
    // A client that takes it out each time is not fought for ever.
    let key = edit.target.key();
    let given_up = view.given_up_until(&key);
    match given_up.filter(|_| step.as_ref().is_some_and(|step| step.why == Why::Drifted)) {
        Some(until) => Chosen { step: None, drift: Some(drift::of_edit(&key, Some(until))) },
        None => Chosen { step, drift: None },
    }
}

/// What is left to do for an edit; none when the text has it.
fn next(rules: &Rules<'_>, wave: Wave, edit: &Edit, view: &dyn View) -> Option<Step> {
    let key = edit.target.key();
    let make = |work, why| Some(step(wave, key.clone(), work, why));
    let service = match address(wave, edit, view) {
        Ok(service) => service,
        Err(step) => return Some(*step),
    };
    let Some(stub) = edit.resolved(rules.context, service) else {
        return make(
            Work::Await(cause(Reason::Waiting, "the resolver has no address yet", &key)),
            Why::NotReady,
        );
    };
    let (observed, text) = match view.read(&key) {
        Reading::Unread => return make(Work::Look, Why::Asked),
        Reading::Absent => {
            let missing = cause(Reason::Waiting, "the object to edit is not there", &key);
            return make(Work::Await(missing), Why::Missing);
        }
        Reading::Present(object) if object.is_ours => {
            let message = "the object to edit is applied by an app context";
            return make(Work::Blocked(cause(Reason::LeftAlone, message, &key)), Why::NotOurs);
        }
        Reading::Present(object) => match object.texts.get(&edit.target.member) {
            Some(Text::With(written)) if *written == stub => return None,
            Some(Text::With(_)) => return make(Work::Look, Why::Asked),
            Some(Text::Whole(text)) => (&object.observed, text),
            None => {
                let message = format!("the object to edit has no member {} in its data", edit.target.member);
                return make(Work::Blocked(cause(Reason::LeftAlone, &message, &key)), Why::NotOurs);
            }
        },
    };
    let recorded = view.edited().iter().find(|edited| edited.target == edit.target);
    let why = match recorded.map(|recorded| (recorded.written.as_ref(), recorded.is_settled())) {
        None | Some((None, _)) => Why::Missing,
        Some((Some(written), true)) if *written == stub => Why::Drifted,
        Some(_) => Why::ManifestChanged,
    };
    let written: Vec<_> = recorded.into_iter().flat_map(Edited::each).cloned().collect();
    let edited = match stub.edit(text, &written) {
        Ok(edited) => edited,
        Err(error) => return make(Work::Blocked(left_alone(&error, &key)), Why::NotOurs),
    };
    let member = edit.target.member.clone();
    match (*edited == **text, why) {
        (true, Why::Drifted) => None,
        (true, _) => make(Work::RecordEdit { member, stub: Some(Box::new(stub)) }, why),
        (false, _) => {
            let (observed, text) = (observed.clone(), edited.into());
            make(Work::Edit { observed, member, text, stub: Some(Box::new(stub)) }, why)
        }
    }
}

/// What is left to do for an edit that is not desired any more.
pub(super) fn undo(edited: &Edited, view: &dyn View) -> Step {
    let (key, member) = (edited.target.key(), &edited.target.member);
    let make = |work, why| step(UNDO, key.clone(), work, why);
    let forget = || make(Work::RecordEdit { member: member.clone(), stub: None }, Why::AlreadyGone);
    let (observed, text) = match view.read(&key) {
        Reading::Unread => return make(Work::Look, Why::NotListed),
        Reading::Absent => return forget(),
        Reading::Present(object) => match object.texts.get(member) {
            Some(Text::With(_)) => return make(Work::Look, Why::NotListed),
            Some(Text::Whole(text)) => (&object.observed, text),
            None => return forget(),
        },
    };
    match edited.undo(text) {
        Err(_) if !edited.may_be_in(text) => forget(),
        Err(error) => make(Work::Blocked(left_alone(&error, &key)), Why::NotOurs),
        Ok(undone) if *undone == **text => forget(),
        Ok(undone) => {
            let (observed, member) = (observed.clone(), member.clone());
            make(Work::Edit { observed, member, text: undone.into(), stub: None }, Why::NotDesired)
        }
    }
}

/// The cluster IP of the Service that an edit needs.
///
/// # Errors
/// The step that is next while it is not known.
fn address(wave: Wave, edit: &Edit, view: &dyn View) -> Result<Option<IpAddr>, Box<Step>> {
    let Some((kind, service)) = edit.service() else { return Ok(None) };
    let make = |work, why| Box::new(Step { wave, kind, key: service.clone(), work, why });
    let waits = |message: &str| Work::Await(cause(Reason::Waiting, message, &service));
    match view.see(&service) {
        Seen::Unlisted => Err(make(Work::Look, Why::Asked)),
        Seen::Absent => Err(make(waits("the resolver's Service is not there yet"), Why::Missing)),
        Seen::Present(sighting) => match sighting.address() {
            Some(address) => Ok(Some(address)),
            None => Err(make(waits("the resolver's Service has no cluster IP"), Why::NotReady)),
        },
    }
}

fn step(wave: Wave, key: ObjectKey, work: Work, why: Why) -> Step {
    Step { wave, kind: DataMember::kind().clone(), key, work, why }
}

/// The texts of other clients are in the detail alone.
fn left_alone(error: &LeftAlone, key: &ObjectKey) -> Cause {
    let message = "a part of the object can't be changed safely, and is left alone";
    cause(Reason::LeftAlone, message, key).detailed(format!("{message}: {}", crate::causes::told(error)))
}

/// The members that are edited, or were, by the object that holds them.
#[must_use]
pub fn members(desired: Option<&Bundle>, written: &[Edited]) -> BTreeMap<ObjectKey, BTreeSet<Arc<str>>> {
    let desired = desired.into_iter().flat_map(Bundle::edits).map(|(_, edit)| &edit.target);
    let mut members: BTreeMap<ObjectKey, BTreeSet<Arc<str>>> = BTreeMap::new();
    for target in desired.chain(written.iter().map(|edited| &edited.target)) {
        members.entry(target.key()).or_default().insert(target.member.clone());
    }
    members
}

/// The record of edits before a step is sent: beside what was written, what is about to be. None when it says so already.
#[must_use]
pub fn noted(edited: &[Edited], step: &Step) -> Option<Vec<Edited>> {
    let Work::Edit { member, stub: Some(stub), .. } = &step.work else { return None };
    let mut noted = edited.to_vec();
    let at = match noted.iter().position(|one| one.target.is(&step.key, member)) {
        Some(at) if noted[at].each().any(|one| *one == **stub) => return None,
        Some(at) => at,
        None => {
            noted.push(unwritten(step, member)?);
            noted.len() - 1
        }
    };
    let unanswered = &mut noted[at].unanswered;
    unanswered.push((**stub).clone());
    // The last ones that may be in the text: the lines of all have the same markers.
    unanswered.drain(..unanswered.len().saturating_sub(UNANSWERED_MAX));
    Some(noted)
}

/// The record of edits once the text is as a step says: it has this stub domain and no other, or none.
pub fn settle(edited: &mut Vec<Edited>, step: &Step) {
    let (Work::Edit { member, stub, .. } | Work::RecordEdit { member, stub }) = &step.work else { return };
    edited.retain(|one| !one.target.is(&step.key, member));
    if let (Some(stub), Some(one)) = (stub, unwritten(step, member)) {
        edited.push(Edited { written: Some((**stub).clone()), ..one });
    }
}

fn unwritten(step: &Step, member: &Arc<str>) -> Option<Edited> {
    let (namespace, name) = (step.key.namespace.clone()?, step.key.name.clone());
    let target = DataMember { namespace, name, member: member.clone() };
    Some(Edited { target, written: None, unanswered: Vec::new() })
}
