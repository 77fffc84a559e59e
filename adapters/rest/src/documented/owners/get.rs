//! `GET`: one owner.

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;

use super::{Named, Served, body};
use crate::documented::place::{Asked, At, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::etag;

pub(super) async fn handle<K: Served>(
    State(services): State<Shared>,
    At(Named { owner }): At<Named<K::Name>>,
    Asked(Nothing {}): Asked<Nothing>,
) -> Result<impl IntoResponse, Problem> {
    let found = K::owners(&services).get(&owner).await?;
    Ok(([etag(&found.revision)], Json(body(found))))
}
