//! `GET /v2/audit`: every decision, with who made it and why.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use axum::response::IntoResponse;

use super::{Which, page};
use crate::documented::place::Asked;
use crate::documented::problem::Problem;
use crate::documented::route::Shared;

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    Asked(which): Asked<Which>,
    uri: Uri,
) -> Result<impl IntoResponse, Problem> {
    Ok(Json(page(&services, None, which, &uri).await?))
}
