//! `GET`: one owner.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;

use super::{Served, body};
use crate::documented::objects::NamedBody;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::etag;

/// What the document says of it.
pub(super) fn describe<K: Served>(it: Operation) -> Operation {
    it.says(format!("Read {}", K::ONE), "")
        .answers(StatusCode::OK, Answer::json::<NamedBody>("It, as it is.").tagged())
}

pub(super) async fn handle<K: Served>(
    State(services): State<Shared>,
    At(place): At<K::Place>,
    Asked(Nothing {}): Asked<Nothing>,
) -> Result<impl IntoResponse, Problem> {
    let owner = place.into();
    let found = K::owners(&services).get(&owner).await?;
    Ok(([etag(&found.revision)], Json(body(found))))
}
