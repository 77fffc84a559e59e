//! Entity tags: `ETag`, `If-Match` and `If-None-Match` (RFC 9110, sections 8.8.3 and 13.1).
//!
//! A logical cloud and each of its parts has one tag, that of the cloud's last edit: whoever sends it back changes
//! nothing that others have changed since.

use std::fmt::Display;

use axum::extract::FromRequestParts;
use axum::http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use dcm_core::service::{EditId, Precondition, Presence, Revision};

use super::problem::{Kind, Problem};

/// Something that is named by a tag.
pub(super) trait Tag: Sized + Send {
    /// Reads what is between the quotes; none for what can't be a tag of ours.
    fn parse(text: &str) -> Option<Self>;
}

impl Tag for EditId {
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Tag for Revision {
    fn parse(text: &str) -> Option<Self> {
        Some(Self::from_text(text))
    }
}

/// The header that tells a tag.
pub(super) fn etag(tag: impl Display) -> (HeaderName, HeaderValue) {
    // Tags are hexadecimal digits and dots.
    let value = HeaderValue::from_str(&format!("\"{tag}\"")).unwrap_or(HeaderValue::from_static("\"\""));
    (ETAG, value)
}

/// The condition that the headers of a request state.
pub(super) struct If<T> {
    pub(super) condition: Precondition<T>,
}

impl<T> If<T> {
    /// What a failed condition is to the caller: one who asked for a condition is told that it does not hold.
    pub(super) fn told(&self, problem: Problem) -> Problem {
        match (problem.kind(), self.condition.presence) {
            (Kind::AlreadyThere, Presence::Absent) | (Kind::NotFound, Presence::Present) => {
                problem.told_as(Kind::PreconditionFailed)
            }
            _ => problem,
        }
    }
}

impl<T> If<T> {
    /// Refuses a condition where it would be passed over.
    pub(super) fn must_be_none(&self) -> Result<(), Problem> {
        match (self.condition.presence, &self.condition.known) {
            (Presence::Any, None) => Ok(()),
            _ => Err(Problem::new(Kind::Malformed, "this takes no If-Match and no If-None-Match")),
        }
    }

    /// What is known of what an action is done with: it has to be there in any case.
    pub(super) fn of_action(self) -> Result<Option<Vec<T>>, Problem> {
        match self.condition.presence {
            Presence::Absent => Err(Problem::new(Kind::Malformed, "If-None-Match says nothing here")),
            Presence::Any | Presence::Present => Ok(self.condition.known),
        }
    }
}

/// A request without a condition: one that it states would be passed over.
pub(super) struct Unconditional;

impl<S: Send + Sync> FromRequestParts<S> for Unconditional {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        match [IF_MATCH, IF_NONE_MATCH].iter().find(|name| parts.headers.contains_key(*name)) {
            Some(name) => Err(Problem::new(Kind::Malformed, format!("this takes no {name}"))),
            None => Ok(Self),
        }
    }
}

impl<T: Tag, S: Send + Sync> FromRequestParts<S> for If<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let matching = listed(&parts.headers, &IF_MATCH)?;
        let absent = listed(&parts.headers, &IF_NONE_MATCH)?;
        if matching.is_some() && absent.is_some() {
            return Err(Problem::new(Kind::Malformed, "say If-Match or If-None-Match, not both"));
        }
        let presence = match absent {
            Some(Listed::Any) => Presence::Absent,
            Some(Listed::Tags { .. }) => {
                let detail = "If-None-Match of a change is `*`: it is made only where there is nothing";
                return Err(Problem::new(Kind::Malformed, detail));
            }
            None if matches!(matching, Some(Listed::Any)) => Presence::Present,
            None => Presence::Any,
        };
        let known = match matching {
            Some(Listed::Tags { strong, .. }) => {
                Some(strong.iter().filter_map(|tag| T::parse(tag)).collect())
            }
            Some(Listed::Any) | None => None,
        };
        Ok(Self { condition: Precondition { presence, known } })
    }
}

/// `*`, or a list of tags, as a regular expression (ECMA-262). None of ours has a comma.
pub(super) const PATTERN: &str = r#"^(\*|(W/)?"[^",]*"( *, *(W/)?"[^",]*")*)$"#;

/// What a header of tags says.
pub(super) enum Listed {
    /// `*`.
    Any,
    /// What is between the quotes of each tag.
    Tags {
        /// Of strong ones.
        strong: Vec<String>,
        /// Of weak ones, which never match where something is to be changed (RFC 9110, section 13.1.1).
        weak: Vec<String>,
    },
}

/// Reads a header of tags; none where it is not there.
pub(super) fn listed(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Listed>, Problem> {
    let (mut strong, mut weak) = (Vec::new(), Vec::new());
    let values: Vec<_> = headers.get_all(name).iter().collect();
    for value in &values {
        let malformed =
            || Problem::new(Kind::Malformed, format!("{name} is `*` or a list of tags in quotes"));
        let text = value.to_str().map_err(|_| malformed())?;
        if text.trim() == "*" && values.len() == 1 {
            return Ok(Some(Listed::Any));
        }
        for tag in text.split(',').map(str::trim) {
            let (is_weak, tag) = tag.strip_prefix("W/").map_or((false, tag), |tag| (true, tag));
            let tag = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
            let tag = tag.filter(|tag| !tag.contains('"')).ok_or_else(malformed)?;
            if is_weak { &mut weak } else { &mut strong }.push(tag.to_owned());
        }
    }
    Ok((!values.is_empty()).then_some(Listed::Tags { strong, weak }))
}
