//! The subject of a user's certificate: what Kubernetes takes as the user's name (`CN`) and group (`O`).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Longest common name or organization, in characters (X.520, `ub-common-name` and `ub-organization-name`).
pub const SUBJECT_PART_MAX: usize = 64;

/// Label of the one PEM block that a certificate signing request is: Kubernetes takes no other.
pub const REQUEST_LABEL: &str = "CERTIFICATE REQUEST";

/// Largest certificate signing request, in bytes of PEM: one with the longest RSA key that is accepted has about 3 KiB.
pub const REQUEST_BYTES_MAX: usize = 16 * 1024;

/// The one PEM block of a certificate signing request, from its first line to its last. Text before it is passed over, as OpenSSL
/// writes with `-text`; white space may follow it. None for a text with another block, or without one.
#[cfg(any(feature = "logical-cloud", feature = "pki"))]
pub(crate) fn request_block(text: &str) -> Option<&str> {
    let begin = format!("-----BEGIN {REQUEST_LABEL}-----");
    let text = text.trim();
    let block = &text[text.find(&begin)?..];
    let before = &text[..text.len() - block.len()];
    // What follows on the first line is no part of it, and a block begins a line.
    let is_framed = block[begin.len()..].starts_with(['\n', '\r'])
        && (before.is_empty() || before.ends_with('\n'))
        && block.ends_with(&format!("-----END {REQUEST_LABEL}-----"));
    let is_one = ["-----BEGIN", "-----END"].iter().all(|line| text.matches(line).count() == 1);
    (is_framed && is_one).then_some(block)
}

/// What Kubernetes keeps for itself: `system:masters` is above every authorization.
const RESERVED_PREFIX: &str = "system:";

/// Why a text can't be part of a subject.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not a valid {part}: {rule}")]
pub struct InvalidSubject {
    /// Which part: `common name` or `organization`.
    pub part: &'static str,
    /// The refused text, cut to [`SUBJECT_PART_MAX`] characters.
    pub value: String,
    /// The rule that it breaks.
    pub rule: &'static str,
}

/// The subject of a certificate: one common name, which rights are bound to, and at most one organization, which is
/// only informative.
///
/// Both have 1 to 64 characters, no control characters, no white space at an end, and don't begin with `system:`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Subject {
    common_name: String,
    organization: Option<String>,
}

/// The subject of a certificate.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Subject"))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Parts {
    /// `CN`: the user's name in the cluster.
    common_name: String,
    /// `O`: the user's group in the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    organization: Option<String>,
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Subject {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Parts::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Parts::json_schema(generator)
    }
}

impl Subject {
    /// Parses both parts.
    ///
    /// # Errors
    /// [`InvalidSubject`] for the part that breaks a rule of [`Subject`].
    pub fn new(common_name: &str, organization: Option<&str>) -> Result<Self, InvalidSubject> {
        check("common name", common_name)?;
        organization.map_or(Ok(()), |organization| check("organization", organization))?;
        Ok(Self { common_name: common_name.to_owned(), organization: organization.map(str::to_owned) })
    }

    /// `CN`: the user's name in the cluster.
    #[must_use]
    pub fn common_name(&self) -> &str {
        &self.common_name
    }

    /// `O`: the user's group in the cluster.
    #[must_use]
    pub fn organization(&self) -> Option<&str> {
        self.organization.as_deref()
    }
}

fn check(part: &'static str, text: &str) -> Result<(), InvalidSubject> {
    let rule = if text.is_empty() || text.chars().count() > SUBJECT_PART_MAX {
        "must have 1 to 64 characters"
    } else if text.chars().any(char::is_control) {
        "must have no control characters"
    } else if text.trim() != text {
        "must not begin or end with white space"
    } else if text.starts_with(RESERVED_PREFIX) {
        "must not begin with `system:`, which Kubernetes keeps for itself"
    } else {
        return Ok(());
    };
    Err(InvalidSubject { part, value: text.chars().take(SUBJECT_PART_MAX).collect(), rule })
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(organization) = &self.organization {
            write!(f, "O={organization}, ")?;
        }
        write!(f, "CN={}", self.common_name)
    }
}

impl TryFrom<Parts> for Subject {
    type Error = InvalidSubject;

    fn try_from(parts: Parts) -> Result<Self, InvalidSubject> {
        Self::new(&parts.common_name, parts.organization.as_deref())
    }
}

impl From<Subject> for Parts {
    fn from(subject: Subject) -> Self {
        Self { common_name: subject.common_name, organization: subject.organization }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_1_to_64_characters_and_nothing_that_kubernetes_reserves() {
        let longest = "é".repeat(SUBJECT_PART_MAX);
        for good in ["a", "p1:lc1:alice:1", "Zoë Ångström", "not-system:x", &longest] {
            assert!(Subject::new(good, Some(good)).is_ok(), "{good}");
        }
        let too_long = "x".repeat(SUBJECT_PART_MAX + 1);
        for bad in ["", "system:admin", "system:", "a\nb", "a\0", "a\u{85}b", " a", "a ", &too_long] {
            assert_eq!(Subject::new(bad, None).unwrap_err().part, "common name", "{bad:?}");
            assert_eq!(Subject::new("a", Some(bad)).unwrap_err().part, "organization", "{bad:?}");
        }
    }

    #[test]
    fn a_refused_text_is_cut() {
        let error = Subject::new(&"x".repeat(1000), None).unwrap_err();
        assert_eq!(error.value.len(), SUBJECT_PART_MAX);
    }

    #[test]
    fn serde_goes_through_the_constructor() {
        let subject = Subject::new("alice", Some("team")).unwrap();
        let text = serde_json::to_string(&subject).unwrap();
        assert_eq!(text, r#"{"commonName":"alice","organization":"team"}"#);
        assert_eq!(serde_json::from_str::<Subject>(&text).unwrap(), subject);
        assert!(
            serde_json::from_str::<Subject>(r#"{"commonName":"alice","organization":"system:masters"}"#)
                .is_err()
        );
    }

    #[test]
    fn it_reads_as_organization_and_common_name() {
        assert_eq!(Subject::new("alice", Some("team")).unwrap().to_string(), "O=team, CN=alice");
        assert_eq!(Subject::new("alice", None).unwrap().to_string(), "CN=alice");
    }
}
