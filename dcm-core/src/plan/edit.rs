//! Choices about edits: what is left to do to a part of an object that belongs to other clients.

use std::cmp::Reverse;
use std::net::IpAddr;

use super::drift;
use super::object::{Chosen, cause};
use super::view::{Reading, Seen, Text, View};
use super::{Rules, Step, Wave, Why, Work};
use crate::app_context::{Edit, Edited, Stage};
use crate::corefile::LeftAlone;
use crate::manifest::ObjectKey;
use crate::status::{Cause, Reason};

/// When edits are undone: before anything that they lead to is taken away.
pub(super) const UNDO: Wave = Wave::Remove(Reverse(Stage(u16::MAX)));

/// Most stub domains that are recorded of one edit: more were refused one after the other than a cluster changes its address.
const WRITTEN_MAX: usize = 8;

/// Chooses for an edit.
pub(super) fn desire(rules: &Rules<'_>, wave: Wave, edit: &Edit, view: &dyn View) -> Chosen {
    let step = next(rules, wave, edit, view);
    // A client that takes it out each time is not fought for ever.
    let given_up = view.given_up_until(&edit.key());
    match given_up.filter(|_| step.as_ref().is_some_and(|step| step.why == Why::Drifted)) {
        Some(until) => Chosen { step: None, drift: Some(drift::of_edit(&edit.key(), Some(until))) },
        None => Chosen { step, drift: None },
    }
}

/// What is left to do for an edit; none when the text has it.
fn next(rules: &Rules<'_>, wave: Wave, edit: &Edit, view: &dyn View) -> Option<Step> {
    let make = |work, why| Some(step(wave, edit.key(), work, why));
    let service = match address(wave, edit, view) {
        Ok(service) => service,
        Err(step) => return Some(*step),
    };
    let key = edit.key();
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
            let message = "an app context applies the object whose part is to be edited";
            return make(Work::Blocked(cause(Reason::LeftAlone, message, &key)), Why::NotOurs);
        }
        Reading::Present(object) => match object.texts.get(&edit.member) {
            Some(Text::With(written)) if *written == stub => return None,
            Some(Text::With(_)) => return make(Work::Look, Why::Asked),
            Some(Text::Whole(text)) => (&object.observed, text),
            None => {
                let message = format!("the object to edit has no member {} in its data", edit.member);
                return make(Work::Blocked(cause(Reason::LeftAlone, &message, &key)), Why::NotOurs);
            }
        },
    };
    let recorded = view.edited().iter().find(|edited| edited.is_of(edit));
    let written = recorded.map_or(&[][..], |edited| &edited.written);
    let why = match written {
        [] => Why::Missing,
        [one] if *one == stub => Why::Drifted,
        [..] => Why::ManifestChanged,
    };
    match stub.edit(text, written) {
        Err(error) => make(Work::Blocked(left_alone(&error, &key)), Why::NotOurs),
        Ok(edited) if *edited == **text && why == Why::Drifted => None,
        // Also where the text has it already: the record says so after an answer alone.
        Ok(edited) => {
            let (observed, member) = (observed.clone(), edit.member.clone());
            make(Work::Edit { observed, member, text: edited.into(), stub: Some(Box::new(stub)) }, why)
        }
    }
}

/// What is left to do for an edit that is not desired any more.
pub(super) fn undo(edited: &Edited, view: &dyn View) -> Step {
    let key = edited.key();
    let make = |work, why| step(UNDO, edited.key(), work, why);
    let forget = || make(Work::ForgetEdit { member: edited.member.clone() }, Why::AlreadyGone);
    let (observed, text) = match view.read(&key) {
        Reading::Unread => return make(Work::Look, Why::NotListed),
        Reading::Absent => return forget(),
        Reading::Present(object) => match object.texts.get(&edited.member) {
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
            let (observed, member) = (observed.clone(), edited.member.clone());
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
    Step { wave, kind: Edit::kind().clone(), key, work, why }
}

/// The texts of other clients are in the detail alone.
fn left_alone(error: &LeftAlone, key: &ObjectKey) -> Cause {
    let message = "a part of the object can't be changed safely, and is left alone";
    cause(Reason::LeftAlone, message, key).detailed(format!("{message}: {}", crate::causes::told(error)))
}

/// What an edit that was written is recorded as, with what may be in the text beside it.
#[must_use]
pub fn noted(edited: &[Edited], step: &Step) -> Option<Vec<Edited>> {
    let Work::Edit { member, stub: Some(stub), .. } = &step.work else { return None };
    let (namespace, name) = (step.key.namespace.clone()?, step.key.name.clone());
    let fresh = Edited { namespace, name, member: member.clone(), written: vec![(**stub).clone()] };
    let mut noted = edited.to_vec();
    match noted.iter_mut().find(|one| one.key() == step.key && one.member == *member) {
        None => noted.push(fresh),
        Some(one) if one.written.contains(stub) => return None,
        Some(one) => {
            one.written.push((**stub).clone());
            // The last ones that may be in the text: the lines of all have the same markers.
            let surplus = one.written.len().saturating_sub(WRITTEN_MAX);
            one.written.drain(..surplus);
        }
    }
    Some(noted)
}
