//! `GET /v2/projects/{project}`

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;

use super::body;
use crate::documented::place::{Asked, At, InProject, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::etag;

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InProject { project }): At<InProject>,
    Asked(Nothing {}): Asked<Nothing>,
) -> Result<impl IntoResponse, Problem> {
    let found = services.projects.get(&project).await?;
    Ok(([etag(&found.revision)], Json(body(found))))
}
