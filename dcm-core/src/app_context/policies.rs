//! What is done about objects that somebody else made, and about fields that somebody else took.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::fields::FieldPath;

/// What to do with an object that is there already and is not ours.
///
/// What is taken over is released in the end and never deleted. What belongs to another app context, or to another
/// installation, is never taken over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Existing {
    /// Leave it alone and report it.
    #[default]
    Refuse,
    /// Take it over, add what is desired, and release it (never delete it) on removal: what was added goes, and the
    /// rest is as it was. What somebody else holds with another value is never overwritten: that is a field conflict.
    Adopt,
    /// As [`Self::Adopt`], but only where every desired field is there with an equal value, as the API server would
    /// store it; else leave it alone and report the first field that is not.
    AdoptIfEqual,
    /// Take it over, and set what is desired whoever holds it. What it said before is not known later: it is released
    /// without what was overwritten.
    Overwrite,
}

impl Existing {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Refuse, Self::Adopt, Self::AdoptIfEqual, Self::Overwrite];

    /// Its name, in documents and records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Adopt => "adopt",
            Self::AdoptIfEqual => "adopt-if-equal",
            Self::Overwrite => "overwrite",
        }
    }
}

/// The answer to somebody else who deletes an object, or takes a desired field of it: changes or removes it.
///
/// An object that was adopted without being overwritten is never corrected: it was agreed that what others say of it
/// holds.
///
/// What is left to others is left out of later writes, too, but for the `subjects` of a RoleBinding or
/// ClusterRoleBinding: who takes them is reported as long as the manifest stays as it is, and loses them with each change of it.
/// Else whoever holds the field would keep rights alive that were taken away.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Drift {
    /// It is brought back.
    Correct {
        /// But for these fields, and what lies in them: they are left to whoever took them, and reported.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        except: BTreeSet<FieldPath>,
    },
    /// It is only reported. The object is made anew, if it was deleted, when the app context is applied again.
    Report,
}

impl Default for Drift {
    fn default() -> Self {
        Self::Correct { except: BTreeSet::new() }
    }
}

impl Drift {
    /// True when everything is brought back.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// True when this field is left to whoever took it.
    #[must_use]
    pub fn leaves(&self, field: &FieldPath) -> bool {
        match self {
            Self::Report => true,
            Self::Correct { except } => except.iter().any(|path| path.covers(field)),
        }
    }
}
