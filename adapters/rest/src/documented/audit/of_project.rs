//! `GET /v2/projects/{project}/audit`: the decisions about a project and its logical clouds.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::IntoResponse;
use dcm_core::audit::Recorded;

use super::HOW;
use super::{Which, page};
use crate::documented::openapi::{Answer, Operation};
use crate::documented::page::Page;
use crate::documented::place::{Asked, At, InProject};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says("List decisions about a project", HOW)
        .answers(StatusCode::OK, Answer::json::<Page<Recorded>>("A page of decisions, the oldest first."))
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InProject { project }): At<InProject>,
    Asked(which): Asked<Which>,
    uri: Uri,
) -> Result<impl IntoResponse, Problem> {
    Ok(Json(page(&services, Some(&project), which, &uri).await?))
}
