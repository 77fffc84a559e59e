//! A name and what people wrote about the thing.

use serde::{Deserialize, Serialize};

use crate::name::InvalidName;
use crate::refusal::{Checks, Path, Refusals};

use super::draft::MetadataDraft;
use super::limits::{DESCRIPTION_MAX, USER_DATA_MAX};

/// The name of a thing, of its own type, with notes that have no meaning to us.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metadata<Name> {
    /// Its name.
    pub name: Name,
    /// What it is for, at most [`DESCRIPTION_MAX`] characters.
    pub description: String,
    /// A note, at most [`USER_DATA_MAX`] characters.
    pub user_data1: String,
    /// A note, at most [`USER_DATA_MAX`] characters.
    pub user_data2: String,
}

/// What people wrote about a thing: the same notes, of something that is named elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Notes {
    /// What it is for, at most [`DESCRIPTION_MAX`] characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// A note, at most [`USER_DATA_MAX`] characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user_data1: String,
    /// A note, at most [`USER_DATA_MAX`] characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user_data2: String,
}

impl Notes {
    /// True when nobody wrote anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks how long they are, at a path.
    #[cfg(feature = "pki")]
    pub(crate) fn check(&self, at: &Path, checks: &mut Checks) {
        text(&self.description, DESCRIPTION_MAX, &at.field("description"), checks);
        text(&self.user_data1, USER_DATA_MAX, &at.field("userData1"), checks);
        text(&self.user_data2, USER_DATA_MAX, &at.field("userData2"), checks);
    }
}

impl<Name> Metadata<Name> {
    /// Checks name and notes, at a path.
    pub(super) fn check(draft: MetadataDraft, at: &Path, checks: &mut Checks) -> Option<Self>
    where
        Name: TryFrom<String, Error = InvalidName>,
    {
        let before = checks.count();
        text(&draft.description, DESCRIPTION_MAX, &at.field("description"), checks);
        text(&draft.user_data1, USER_DATA_MAX, &at.field("userData1"), checks);
        text(&draft.user_data2, USER_DATA_MAX, &at.field("userData2"), checks);
        let made = Name::try_from(draft.name.clone());
        let name = checks.accept(&at.field("name"), &draft.name, made)?;
        let MetadataDraft { description, user_data1, user_data2, .. } = draft;
        (checks.count() == before).then_some(Self { name, description, user_data1, user_data2 })
    }
}

impl<Name> TryFrom<MetadataDraft> for Metadata<Name>
where
    Name: TryFrom<String, Error = InvalidName>,
{
    type Error = Refusals;

    fn try_from(draft: MetadataDraft) -> Result<Self, Refusals> {
        super::checked(|checks| Self::check(draft, &Path::root(), checks))
    }
}

impl<Name: Into<String>> From<Metadata<Name>> for MetadataDraft {
    fn from(metadata: Metadata<Name>) -> Self {
        let Metadata { name, description, user_data1, user_data2 } = metadata;
        Self { name: name.into(), description, user_data1, user_data2 }
    }
}

fn text(value: &str, longest: usize, at: &Path, checks: &mut Checks) {
    if value.chars().count() > longest {
        checks.refuse(at, value, format!("must be at most {longest} characters long"));
    }
}
