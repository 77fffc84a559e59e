//! `GET /v2/audit`: every decision, with who made it and why.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::IntoResponse;
use dcm_core::audit::Recorded;

use super::HOW;
use super::{Which, page};
use crate::documented::openapi::{Answer, Operation};
use crate::documented::page::Page;
use crate::documented::place::Asked;
use crate::documented::problem::Problem;
use crate::documented::route::Shared;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says("List decisions", HOW)
        .answers(StatusCode::OK, Answer::json::<Page<Recorded>>("A page of decisions, the oldest first."))
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    Asked(which): Asked<Which>,
    uri: Uri,
) -> Result<impl IntoResponse, Problem> {
    Ok(Json(page(&services, None, which, &uri).await?))
}
