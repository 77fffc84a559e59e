//! Whom a client certificate names.
//!
//! Kubernetes takes the common name as the user and each organization as a group. What begins with `system:` is
//! Kubernetes' own: `system:masters` may do everything in every cluster. Neither type can hold such a text.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Longest common name and longest organization name, in characters (X.520 `ub-common-name`,
/// `ub-organization-name`).
pub const SUBJECT_PART_MAX: usize = 64;

/// Beginning of the names that Kubernetes keeps for itself.
const RESERVED_PREFIX: &str = "system:";

/// A text that can't be a part of a subject.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not a valid {kind}: 1 to 64 printable ASCII characters, not beginning with `system:`")]
pub struct InvalidSubject {
    /// What the text was to be, such as `common name`.
    pub kind: &'static str,
    /// The refused text, cut to [`SUBJECT_PART_MAX`] characters.
    pub value: String,
}

fn checked(kind: &'static str, text: &str) -> Result<Arc<str>, InvalidSubject> {
    let printable = text.bytes().all(|byte| byte.is_ascii_graphic());
    if printable && (1..=SUBJECT_PART_MAX).contains(&text.len()) && !text.starts_with(RESERVED_PREFIX) {
        return Ok(text.into());
    }
    Err(InvalidSubject {
        kind,
        value: text.chars().take(SUBJECT_PART_MAX).collect(),
    })
}

macro_rules! subject_part {
    ($(#[$doc:meta])* $type:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(Arc<str>);

        impl $type {
            /// Takes a text.
            ///
            /// # Errors
            /// [`InvalidSubject`] when it is empty, longer than [`SUBJECT_PART_MAX`], not printable ASCII without
            /// white space, or begins with `system:`.
            pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidSubject> {
                checked($kind, text.as_ref()).map(Self)
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl TryFrom<String> for $type {
            type Error = InvalidSubject;

            fn try_from(text: String) -> Result<Self, InvalidSubject> {
                Self::new(text)
            }
        }

        impl From<$type> for String {
            fn from(part: $type) -> Self {
                part.0.as_ref().to_owned()
            }
        }
    };
}

subject_part!(
    /// The common name (`CN`): the Kubernetes user that rights are bound to.
    CommonName, "common name"
);
subject_part!(
    /// The organization (`O`): a Kubernetes group. Informative; nothing is ever bound to it.
    Organization, "organization"
);

/// The subject of a user's client certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// Whom Kubernetes takes the holder for.
    pub common_name: CommonName,
    /// Where the user belongs to, for people who read the certificate.
    pub organization: Organization,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_that_kubernetes_keeps_for_itself_are_refused() {
        assert!(CommonName::new("system:admin").is_err());
        assert!(Organization::new("system:masters").is_err());
        assert!(serde_json::from_str::<Organization>("\"system:masters\"").is_err());
        assert!(CommonName::new("dcm:system:masters").is_ok());
    }

    #[test]
    fn a_part_is_printable_and_fits_the_certificate_field() {
        assert!(CommonName::new("x".repeat(SUBJECT_PART_MAX)).is_ok());
        for bad in ["", "a b", "é", "a\n", &"x".repeat(SUBJECT_PART_MAX + 1)] {
            assert!(CommonName::new(bad).is_err(), "{bad:?}");
        }
    }
}
