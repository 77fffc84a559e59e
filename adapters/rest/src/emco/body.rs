//! Reading bodies as Go does: members in any case, those that are not known passed over, what is missing or `null` empty.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::BODY_BYTES_MAX;
use super::problem::Problem;
use crate::json;
use crate::limits::{self, Broken};

/// What is known of the members of a value.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// Whatever it is, it is left as it is.
    Any,
    /// An object with these members.
    Of(&'static [(&'static str, Self)]),
}

/// A kind of bodies.
pub(super) trait Document: DeserializeOwned + Send {
    /// Its members.
    const SHAPE: Shape;

    /// Adds the rules of EMCO's schemas that it breaks, each as a line.
    fn check(&self, lines: &mut Vec<String>);
}

/// A body that breaks no rule of its schema.
pub(super) struct Body<T>(pub(super) T);

impl<T: Document, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let Sent(bytes) = Sent::from_request(request, state).await?;
        checked(&bytes).map(Self)
    }
}

/// A body as it was sent.
pub(super) struct Sent(pub(super) Bytes);

impl<S: Send + Sync> FromRequest<S> for Sent {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if limits::is_said_to_exceed(request.headers(), BODY_BYTES_MAX) {
            return Err(Problem::too_large());
        }
        Bytes::from_request(request, state).await.map(Self).map_err(unread)
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it is what an error is mapped from")]
fn unread(rejection: BytesRejection) -> Problem {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return Problem::too_large();
    }
    let broken_off = || Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "unexpected EOF");
    Broken::of(&rejection).map_or_else(broken_off, Problem::of_body)
}

/// Reads a document and holds it against its schema.
pub(super) fn checked<T: Document>(bytes: &[u8]) -> Result<T, Problem> {
    let document: T = read(bytes)?;
    let mut lines = Vec::new();
    document.check(&mut lines);
    if lines.is_empty() { Ok(document) } else { Err(Problem::invalid(lines)) }
}

/// True for a body with nothing in it.
pub(super) fn is_empty(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_whitespace)
}

/// Reads a document.
pub(super) fn read<T: Document>(bytes: &[u8]) -> Result<T, Problem> {
    if is_empty(bytes) {
        return Err(Problem::new(StatusCode::BAD_REQUEST, "Empty body"));
    }
    let unread = |text: String| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, text);
    let mut value = json::read_first(bytes).map_err(|error| match error.is_eof() {
        true => unread("unexpected EOF".to_owned()),
        false => unread(error.to_string()),
    })?;
    fold(&mut value, T::SHAPE).map_err(unread)?;
    if value.pointer("/spec/kv").is_some_and(Value::is_string) {
        return Err(unread("json: cannot unmarshal string into a list".to_owned()));
    }
    json::keep_digits(bytes, &mut value)
        .map_err(|error| unread(format!("json: cannot unmarshal: {error}")))?;
    // Go takes a whole document that is null for an empty one, too.
    let value = if value.is_null() { Value::Object(Map::new()) } else { value };
    T::deserialize(value).map_err(|error| unread(format!("json: cannot unmarshal: {error}")))
}

/// Gives members the names that they are known by, and drops those that are not known or `null`. Tells what is there twice, and what is
/// no object where one is to be: a list would be taken for one.
fn fold(value: &mut Value, shape: Shape) -> Result<(), String> {
    let Shape::Of(members) = shape else { return Ok(()) };
    let object = match value {
        Value::Null => return Ok(()),
        Value::Object(object) => object,
        Value::Array(_) => return Err(no_object("array")),
        Value::String(_) => return Err(no_object("string")),
        Value::Number(_) => return Err(no_object("number")),
        Value::Bool(_) => return Err(no_object("bool")),
    };
    let mut folded = Map::new();
    for (key, mut member) in std::mem::take(object) {
        let Some((name, shape)) = members.iter().find(|(name, _)| name.eq_ignore_ascii_case(&key)) else {
            continue;
        };
        fold(&mut member, *shape)?;
        if !member.is_null() && folded.insert((*name).to_owned(), member).is_some() {
            return Err(format!("json: the member {name} is there twice"));
        }
    }
    *object = folded;
    Ok(())
}

fn no_object(found: &str) -> String {
    format!("json: cannot unmarshal {found} into an object")
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    #[derive(Default)]
    struct Reference {
        load_balancer: String,
        labels: Option<Value>,
    }

    impl Document for Reference {
        const SHAPE: Shape = Shape::Of(&[("loadBalancer", Shape::Any), ("labels", Shape::Any)]);

        fn check(&self, lines: &mut Vec<String>) {
            if self.load_balancer == "bad" {
                lines.push("a rule".to_owned());
            }
        }
    }

    #[test]
    fn a_body_is_read_as_go_does() {
        let labels = Some(serde_json::json!({"Tier": 1}));
        for (text, load_balancer, labels) in [
            (r#"{"loadbalancer": "x", "more": [1]} rest"#, "x", None),
            (r#"{"LOADBALANCER": "x", "labels": {"Tier": 1}}"#, "x", labels),
            (r#"{"loadBalancer": null}"#, "", None),
            ("null", "", None),
        ] {
            let load_balancer = load_balancer.to_owned();
            assert_eq!(checked::<Reference>(text.as_bytes()).unwrap(), Reference { load_balancer, labels });
        }
    }

    #[test]
    fn what_can_not_be_read_is_told_with_the_status_of_its_kind() {
        for (text, status, told) in [
            (" \n", 400, "Empty body"),
            ("{", 422, "unexpected EOF"),
            ("{]", 422, "key must be a string at line 1 column 2"),
            ("[]", 422, "json: cannot unmarshal array into an object"),
            (
                r#"{"loadBalancer": 1}"#,
                422,
                "json: cannot unmarshal: invalid type: integer `1`, expected a string",
            ),
            (
                r#"{"loadBalancer": "a", "loadbalancer": "b"}"#,
                422,
                "json: the member loadBalancer is there twice",
            ),
            (r#"{"loadBalancer": "bad"}"#, 400, "Invalid Input:\na rule"),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(
                checked::<Reference>(text.as_bytes()).unwrap_err(),
                Problem::new(status, told),
                "{text}"
            );
        }
    }
}
