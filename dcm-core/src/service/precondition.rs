//! Under which condition a change is made: how callers who read first don't undo what others did meanwhile.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use crate::hash::ContentHash;
use crate::logical_cloud::LogicalCloudUid;

use super::error::{Error, Kind};

/// Names one edit of one logical cloud. Its text form is `UID.EDIT`, such as `00c0ffee00c0ffee.7`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EditId {
    /// Which cloud: one that is made again under the same name has another UID.
    pub uid: LogicalCloudUid,
    /// The number of the edit.
    pub edit: u64,
}

/// Names one state of something small: the beginning of a hash of what people wrote about it, and of who wrote it when. What is
/// written about it by ourselves alone, such as that it is about to go, is not in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(String);

/// Hexadecimal digits of a revision: 128 bits.
const REVISION_DIGITS: usize = 32;

impl Revision {
    /// The revision of a state.
    pub(super) fn of(state: &Value) -> Self {
        Self(ContentHash::of(state).short(REVISION_DIGITS))
    }

    /// Takes what was a revision's text form. A text that never was one names nothing that is there.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        Self(text.chars().take(REVISION_DIGITS).collect())
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that names no edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an edit is named by a logical cloud's UID, '.' and the number of the edit")]
pub struct InvalidEditId;

impl fmt::Display for EditId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.uid, self.edit)
    }
}

impl FromStr for EditId {
    type Err = InvalidEditId;

    /// Reads the text form, and nothing that only looks like it, such as a number with zeros before it.
    fn from_str(text: &str) -> Result<Self, InvalidEditId> {
        let (uid, edit) = text.split_once('.').ok_or(InvalidEditId)?;
        let uid = uid.parse().map_err(|_| InvalidEditId)?;
        let id = Self { uid, edit: edit.parse().map_err(|_| InvalidEditId)? };
        if id.to_string() == text { Ok(id) } else { Err(InvalidEditId) }
    }
}

/// Whether a thing is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Presence {
    /// It may be.
    #[default]
    Any,
    /// It is not.
    Absent,
    /// It is.
    Present,
}

/// What must hold for a change to be made; otherwise it is refused and changes nothing. By default a change is made
/// whatever is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Precondition<Id> {
    /// Whether what is to be changed is there.
    pub presence: Presence,
    /// What the caller knows of it: it is one of these. None: whichever it is.
    pub known: Option<Vec<Id>>,
}

impl<Id> Default for Precondition<Id> {
    fn default() -> Self {
        Self { presence: Presence::Any, known: None }
    }
}

impl<Id> From<Presence> for Precondition<Id> {
    fn from(presence: Presence) -> Self {
        Self { presence, known: None }
    }
}

impl Presence {
    /// Holds it against whether a thing is there.
    pub(super) fn check(self, kind: Kind, name: impl fmt::Display, is_there: bool) -> Result<(), Error> {
        match (self, is_there) {
            (Self::Absent, true) => Err(Error::AlreadyThere { kind, name: name.to_string() }),
            (Self::Present, false) => Err(Error::not_found(kind, name)),
            (Self::Any | Self::Absent | Self::Present, _) => Ok(()),
        }
    }
}

impl<Id: PartialEq> Precondition<Id> {
    /// Holds it against what is there.
    pub(super) fn check(&self, kind: Kind, name: impl fmt::Display, found: Option<&Id>) -> Result<(), Error> {
        let is_known = |known: &Vec<Id>| found.is_some_and(|found| known.contains(found));
        if !self.known.as_ref().is_none_or(is_known) {
            return Err(Error::PreconditionFailed { kind, name: name.to_string() });
        }
        self.presence.check(kind, name, found.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_named_by_one_text_alone() {
        let id = EditId { uid: LogicalCloudUid::from_random(0xc0_ffee), edit: 7 };
        assert_eq!(id.to_string(), "0000000000c0ffee.7");
        assert_eq!("0000000000c0ffee.7".parse(), Ok(id));
        for bad in ["", ".7", "0000000000c0ffee", "0000000000c0ffee.", "0000000000c0ffee.07", "c0ffee.7"] {
            assert_eq!(bad.parse::<EditId>(), Err(InvalidEditId), "{bad}");
        }
    }

    #[test]
    fn a_change_is_made_only_under_its_condition() {
        let check = |presence, known: Option<&[u8]>, found: Option<u8>| {
            let condition = Precondition { presence, known: known.map(<[u8]>::to_vec) };
            match condition.check(Kind::Quota, "q", found.as_ref()) {
                Ok(()) => "made",
                Err(Error::AlreadyThere { .. }) => "there",
                Err(Error::NotFound { .. }) => "missing",
                Err(Error::PreconditionFailed { .. }) => "another",
                Err(other) => panic!("{other}"),
            }
        };
        for (presence, absent, present) in [
            (Presence::Any, "made", "made"),
            (Presence::Absent, "made", "there"),
            (Presence::Present, "missing", "made"),
        ] {
            assert_eq!((check(presence, None, None), check(presence, None, Some(1))), (absent, present));
        }
        assert_eq!(check(Presence::Any, Some(&[1, 2]), Some(2)), "made");
        assert_eq!(check(Presence::Any, Some(&[1, 2]), Some(3)), "another");
        assert_eq!(check(Presence::Any, Some(&[]), Some(1)), "another");
        assert_eq!(check(Presence::Present, Some(&[1]), None), "another");
    }
}
