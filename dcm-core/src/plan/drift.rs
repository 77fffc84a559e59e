//! Choices about what somebody else changed: bring it back, or leave it and report it.

use std::sync::Arc;

use jiff::Timestamp;

use super::object::{Choice, terms, update};
use super::view::{Sighting, View};
use super::{Terms, Wanted, Why};
use crate::fields::HeldField;
use crate::manifest::ObjectKey;
use crate::port::cluster::Origin;
use crate::status::{Cause, Reason};

/// Most fields that one cause names: whoever wants all of them looks at the object.
const FIELDS_NAMED_MAX: usize = 5;

/// The member of a binding that says who is bound.
const BOUND: &str = "subjects";

const DELETED: &str = "it was deleted by another client";

const TAMPERED: &str = "another client changed or removed our labels or annotations on it";

const PART: &str = "another client changed or removed the part that is edited";

const GIVEN_UP: &str = "brought back several times, and changed again each time";

/// Fields of an object that is else as it was written.
pub(super) fn of_fields(
    wanted: &Wanted<'_>,
    origin: Origin,
    drifted: &[HeldField],
    sighting: &Sighting,
    view: &dyn View,
) -> Choice {
    if drifted.is_empty() {
        return Choice::default();
    }
    let key = wanted.manifest.key();
    let terms = terms(wanted, origin);
    let given_up = view.given_up_until(key);
    let may_take = terms.force && given_up.is_none();
    let leaves = |field: &&HeldField| !may_take || wanted.drift.leaves(&field.path());
    let (left, taken): (Vec<_>, Vec<_>) = drifted.iter().partition(leaves);
    let owned = |fields: Vec<&HeldField>| fields.into_iter().cloned().collect::<Vec<_>>();
    let drift =
        (!left.is_empty()).then(|| Cause { next_try: given_up, ..reported(key, &left, given_up.is_some()) });
    let work = (!taken.is_empty()).then(|| {
        // What is left out of a manifest that our manager holds would go from the object.
        let left: Vec<_> = left.into_iter().filter(|field| !field.is_under_our_name()).collect();
        let terms = Terms { taken: owned(taken), left: owned(left), ..terms };
        (update(wanted.manifest, sighting, origin, terms), Why::Drifted)
    });
    Choice { work, drift }
}

/// The fields that an update for another reason leaves to whoever holds them. What nobody holds is missing because it
/// is new, as far as can be known. Whom a binding names is not among them: somebody who was bound, and is not to be any
/// more, would keep the right.
pub(super) fn held(wanted: &Wanted<'_>, sighting: &Sighting) -> Vec<HeldField> {
    let is_binding = wanted.manifest.key().is_binding();
    let is_left = |field: &&HeldField| {
        let path = field.path();
        // What was changed under our own name would go from the object if we left it out.
        field.holder.is_some()
            && !field.is_under_our_name()
            && wanted.drift.leaves(&path)
            && !(is_binding && path.begins_with(BOUND))
    };
    sighting.fields().iter().filter(is_left).cloned().collect()
}

/// What to report of an object that somebody deleted; none when it is made anew.
pub(super) fn of_deletion(wanted: &Wanted<'_>, view: &dyn View) -> Option<Cause> {
    let key = wanted.manifest.key();
    if let Some(until) = view.given_up_until(key) {
        let message = format!("{DELETED}; {GIVEN_UP}");
        return Some(Cause { next_try: Some(until), ..drifted(key, message.into()) });
    }
    let is_reported = *wanted.drift == crate::app_context::Drift::Report;
    is_reported.then(|| drifted(key, format!("{DELETED}; apply again to have it made anew").into()))
}

fn reported(key: &ObjectKey, left: &[&HeldField], is_given_up: bool) -> Cause {
    let fields = named(left.iter().copied());
    let message = if is_given_up { format!("{fields}; {GIVEN_UP}") } else { fields };
    drifted(key, message.into())
}

/// What somebody else did to an object: changed or removed the marks on it. It is let be until then, where they do so each
/// time.
#[must_use]
pub fn of_marks(key: &ObjectKey, given_up: Option<Timestamp>) -> Cause {
    let message = match given_up {
        Some(_) => format!("{TAMPERED}; {GIVEN_UP}"),
        None => TAMPERED.to_owned(),
    };
    Cause { object: Some(key.clone()), next_try: given_up, ..Cause::new(Reason::Tampered, message) }
}

/// What another client did to an object of which a part is edited: took that out, or changed it. It is let be until then, where it does so
/// each time.
#[must_use]
pub fn of_edit(key: &ObjectKey, given_up: Option<Timestamp>) -> Cause {
    let message = match given_up {
        Some(_) => format!("{PART}; {GIVEN_UP}"),
        None => PART.to_owned(),
    };
    Cause { next_try: given_up, ..drifted(key, message.into()) }
}

fn drifted(key: &ObjectKey, message: Arc<str>) -> Cause {
    Cause { object: Some(key.clone()), ..Cause::new(Reason::Drifted, message) }
}

/// What somebody else did to an object: took these fields, or deleted it when there are none.
#[must_use]
pub fn cause(key: &ObjectKey, fields: &[HeldField]) -> Cause {
    let message = if fields.is_empty() { DELETED.to_owned() } else { named(fields.iter()) };
    drifted(key, message.into())
}

/// Fields with their holders, in words; the first of many.
#[must_use]
pub fn named<'a>(fields: impl ExactSizeIterator<Item = &'a HeldField>) -> String {
    let more = fields.len().saturating_sub(FIELDS_NAMED_MAX);
    let mut text = fields.take(FIELDS_NAMED_MAX).map(HeldField::to_string).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}
