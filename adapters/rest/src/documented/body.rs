//! Reading bodies: JSON of a known shape, and nothing else.

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use dcm_core::shape;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::BODY_BYTES_MAX;
use super::openapi::Rules;
use super::problem::{Kind, Problem};
use crate::{json, limits};

/// The schema of a body, made when it is first needed.
pub(super) type Schema = LazyLock<Value>;

/// A body with fields that are known.
pub(super) trait Shaped: DeserializeOwned {
    /// Which rules of the model its documented schema has beside.
    const RULES: Rules;

    /// What it is held against.
    fn schema() -> &'static Value;
}

/// The function that gives the schema of a type.
macro_rules! schema_of {
    ($type:ty) => {
        fn schema() -> &'static serde_json::Value {
            static SCHEMA: $crate::documented::body::Schema =
                std::sync::LazyLock::new(dcm_core::shape::schema_of::<$type>);
            &SCHEMA
        }
    };
}
pub(super) use schema_of;

/// Of a body that has the shape of its schema, and can't be read all the same. There should be none.
pub(super) const OTHER_SHAPE: &str = "the body has another shape than its schema says";

/// A body, as it was sent and as it is read.
pub(super) struct Body<T> {
    pub(super) sent: Value,
    pub(super) read: T,
}

impl<T: Shaped, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if !is_json(request.headers()) {
            // Pages from elsewhere can't send this type without asking first, and curl doesn't send it by itself.
            let detail = "say `Content-Type: application/json`";
            return Err(Problem::new(Kind::UnsupportedMediaType, detail));
        }
        let bytes = bytes(request, state, BODY_BYTES_MAX).await?;
        Self::read(&bytes)
    }
}

impl<T: Shaped> Body<T> {
    /// Reads a body.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Problem> {
        let malformed = |error: serde_json::Error| Problem::new(Kind::Malformed, error.to_string());
        let mut sent = json::read(bytes).map_err(malformed)?;
        shape::check(T::schema(), &sent)?;
        json::keep_digits(bytes, &mut sent).map_err(malformed)?;
        let Ok(read) = T::deserialize(&sent) else {
            shape::check_choices(T::schema(), &sent)?;
            return Err(Problem::new(Kind::Invalid, OTHER_SHAPE));
        };
        Ok(Self { sent, read })
    }
}

/// Reads a body of at most so many bytes. One that is said to have more is not read at all.
pub(super) async fn bytes<S: Send + Sync>(
    request: Request,
    state: &S,
    bytes_max: usize,
) -> Result<Bytes, Problem> {
    if limits::is_said_to_exceed(request.headers(), bytes_max) {
        return Err(Problem::too_large(bytes_max));
    }
    let bytes = Bytes::from_request(request, state).await;
    bytes.map_err(|rejection| Problem::of_body(&rejection, bytes_max))
}

/// `application/json` or `application/*+json`, with any parameters.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let essence = essence(headers);
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// What type the body has, without parameters, in lower case; empty where it is not said.
pub(super) fn essence(headers: &HeaderMap) -> String {
    let said = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    said.map(essence_of).unwrap_or_default()
}

/// The same of a text.
pub(super) fn essence_of(text: &str) -> String {
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_is_read() {
        let is = |value: &str| is_json(&HeaderMap::from_iter([(CONTENT_TYPE, value.parse().unwrap())]));
        for good in ["application/json", "Application/JSON; charset=utf-8", "application/merge-patch+json"] {
            assert!(is(good), "{good}");
        }
        for bad in ["", "text/plain", "application/x-www-form-urlencoded", "text/json", "application/jsonx"] {
            assert!(!is(bad), "{bad}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
