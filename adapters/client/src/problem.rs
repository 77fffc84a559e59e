//! What a server refuses, in its own words (`application/problem+json`, RFC 9457).

use std::fmt;

use dcm_core::problem::Kind;
use http::StatusCode;
use serde::Deserialize;

/// Where the pages of a server are that say what problems are.
const PROBLEMS: &str = "/problems/";

/// Why a server refuses something, or has failed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Problem {
    /// What kind of problem it is, as a path of the server.
    #[serde(rename = "type", default)]
    pub kind_path: String,
    /// The same in words.
    #[serde(default)]
    pub title: String,
    /// The status of the answer.
    #[serde(default)]
    pub status: u16,
    /// What is wrong, and what helps.
    #[serde(default)]
    pub detail: String,
    /// What is there already is just what was to be made.
    #[serde(rename = "isSame", default)]
    pub is_same: bool,
    /// All fields that break a rule.
    #[serde(default)]
    pub errors: Vec<FieldError>,
}

/// A field that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct FieldError {
    /// Its path in what was sent; empty for the whole.
    #[serde(default)]
    pub field: String,
    /// The rule.
    pub detail: String,
    /// The start of its value; empty where it is missing or may be secret.
    #[serde(default)]
    pub value: String,
}

impl Problem {
    /// What kind of problem it is; none where another program than a DCM server has answered, or one of another version.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        self.kind_path.strip_prefix(PROBLEMS)?.parse().ok()
    }

    /// What an answer of no success says, or that it says nothing that is understood.
    pub(crate) fn read(status: StatusCode, body: &[u8]) -> Self {
        let told: Option<Self> = serde_json::from_slice(body).ok();
        let told = told.filter(|problem| !problem.detail.is_empty());
        told.unwrap_or_else(|| Self {
            kind_path: String::new(),
            title: String::new(),
            status: status.as_u16(),
            detail: format!("the server answered {status}"),
            is_same: false,
            errors: Vec::new(),
        })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_problem_of_ours_is_told_by_its_status() {
        let found = Problem::read(StatusCode::BAD_GATEWAY, b"<html>upstream</html>");
        assert_eq!((found.kind(), &*found.to_string()), (None, "the server answered 502 Bad Gateway"));
        let ours = br#"{"type":"/problems/not-found","title":"There is no such thing","status":404,"detail":"there is no project p"}"#;
        let found = Problem::read(StatusCode::NOT_FOUND, ours);
        let expected = (Some(Kind::NotFound), "there is no project p");
        assert_eq!((found.kind(), &*found.to_string()), expected);
    }
}
