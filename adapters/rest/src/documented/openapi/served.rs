//! `GET /openapi.json`: the document that describes this API.

use std::sync::LazyLock;

use axum::response::Response;

use super::{Answer, Operation};
use crate::documented::pages::{Fixed, Known};
use crate::documented::place::{Asked, Nothing};
use crate::documented::problem::Problem;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    let document = Answer::json::<serde_json::Map<String, serde_json::Value>>("An OpenAPI document.");
    Fixed::describe(it.says("Read this document", "OpenAPI 3.1."), document)
}

pub(in crate::documented) async fn handle(
    Asked(Nothing {}): Asked<Nothing>,
    known: Known,
) -> Result<Response, Problem> {
    static DOCUMENT: LazyLock<Fixed> = LazyLock::new(|| Fixed::json(&crate::documented::openapi()));
    Ok(DOCUMENT.answer(&known))
}
