//! `GET /v2/projects/{project}/logical-clouds/{cloud}/users/{name}/subject`: that of the user's own certificate request.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use dcm_core::name::UserName;
use dcm_core::subject::Subject;

use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, Nothing, OfPart};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says("Read the subject of a user's own certificate request", "Also before there is such a user.")
        .answers(StatusCode::OK, Answer::json::<Subject>("The subject."))
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(OfPart { project, cloud, name }): At<OfPart<UserName>>,
    Asked(Nothing {}): Asked<Nothing>,
) -> Result<impl IntoResponse, Problem> {
    Ok(Json(services.clouds.subject(&project, &cloud, &name).await?))
}
