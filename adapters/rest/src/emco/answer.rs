//! What is answered: one JSON value on a line of its own.

use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::problem::Problem;

/// What says that the body is JSON.
const JSON: (HeaderName, HeaderValue) = (CONTENT_TYPE, HeaderValue::from_static("application/json"));

/// An answer with a body.
pub(super) struct Answer<T>(pub(super) StatusCode, pub(super) T);

impl<T: Serialize> IntoResponse for Answer<T> {
    fn into_response(self) -> Response {
        match line(&self.1) {
            Ok(line) => (self.0, [JSON], line).into_response(),
            Err(_) => Problem::internal().into_response(),
        }
    }
}

/// The value as Go writes it: what HTML could take for its own is escaped. It stands in texts alone.
fn line<T: Serialize>(value: &T) -> serde_json::Result<String> {
    let text = serde_json::to_string(value)?;
    let mut line = String::with_capacity(text.len() + 1);
    for character in text.chars() {
        match character {
            '<' => line.push_str("\\u003c"),
            '>' => line.push_str("\\u003e"),
            '&' => line.push_str("\\u0026"),
            '\u{2028}' => line.push_str("\\u2028"),
            '\u{2029}' => line.push_str("\\u2029"),
            other => line.push(other),
        }
    }
    line.push('\n');
    Ok(line)
}

/// A list that is `null` when it is empty.
pub(super) fn or_null<T>(list: Vec<T>) -> Option<Vec<T>> {
    if list.is_empty() { None } else { Some(list) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_written_as_go_writes_it() {
        assert_eq!(line(&["<a&b>", "ü\u{2028}"]).unwrap(), "[\"\\u003ca\\u0026b\\u003e\",\"ü\\u2028\"]\n");
        assert_eq!(line(&or_null(Vec::<u8>::new())).unwrap(), "null\n");
    }
}
