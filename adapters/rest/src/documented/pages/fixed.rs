//! What is answered with the same text each time.

use axum::extract::FromRequestParts;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, IF_NONE_MATCH, VARY};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use dcm_core::hash::ContentHash;
use serde_json::{Value, json};

use super::frame;
use crate::documented::openapi::{Answer, Input, Operation, Parameter, Shape};
use crate::documented::problem::{Kind, Problem};
use crate::documented::tag::{self, Tag, etag};

/// A text with its type and its tag.
pub(in crate::documented) struct Fixed {
    media_type: &'static str,
    text: String,
    tag: ContentHash,
}

impl Fixed {
    /// A page.
    pub(super) fn page(text: String) -> Self {
        Self::of("text/html; charset=utf-8", text)
    }

    /// JSON, for people to read, too.
    pub(in crate::documented) fn json(value: &Value) -> Self {
        Self::of("application/json", format!("{value:#}\n"))
    }

    fn of(media_type: &'static str, text: String) -> Self {
        Self { media_type, tag: ContentHash::of_bytes(text.as_bytes()), text }
    }

    /// The answer to a caller who may know it already.
    pub(in crate::documented) fn answer(&self, known: &Known) -> Response {
        let policy: (HeaderName, &str) = (CONTENT_SECURITY_POLICY, &frame::POLICY);
        let kept = [(CACHE_CONTROL, "no-cache"), (VARY, "accept")];
        let head = ([etag(self.tag)], kept, [policy], [("x-content-type-options", "nosniff")]);
        if known.holds(&self.tag) {
            return (StatusCode::NOT_MODIFIED, head).into_response();
        }
        (head, [(CONTENT_TYPE, self.media_type)], self.text.clone()).into_response()
    }

    /// What is said of such an answer.
    pub(in crate::documented) fn describe(operation: Operation, answer: Answer) -> Operation {
        let known = Answer::empty("It is as it was when it had that tag.").tagged();
        operation.answers(StatusCode::OK, answer.tagged()).answers(StatusCode::NOT_MODIFIED, known)
    }
}

/// A page, as an answer.
pub(super) fn html(answer: Answer) -> Answer {
    answer.with("text/html", Shape::Text)
}

/// What the caller knows already.
pub(in crate::documented) struct Known(Option<tag::Listed>);

impl Known {
    fn holds(&self, tag: &ContentHash) -> bool {
        match &self.0 {
            None => false,
            Some(tag::Listed::Any) => true,
            // Texts that are the same are the same, however weak the tag is.
            Some(tag::Listed::Tags { strong, weak }) => {
                strong.iter().chain(weak).any(|known| ContentHash::parse(known).as_ref() == Some(tag))
            }
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Known {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Self(tag::listed(&parts.headers, &IF_NONE_MATCH)?))
    }
}

impl Input for Known {
    fn describe(operation: Operation) -> Operation {
        let told = "It is not answered again where one of these tags names it.";
        let schema = json!({"type": "string", "pattern": tag::PATTERN});
        operation.takes(Parameter::header("If-None-Match", told, schema)).fails(&[Kind::Malformed])
    }
}

/// True for who accepts JSON, and no page before it.
pub(super) fn wants_json(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(axum::http::header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut ranges = accepted.flat_map(|value| value.split(',')).map(crate::documented::body::essence_of);
    ranges.find_map(|range| match &*range {
        "application/json" => Some(true),
        "text/html" | "application/xhtml+xml" => Some(false),
        _ => None,
    }) == Some(true)
}

impl Tag for ContentHash {
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}
