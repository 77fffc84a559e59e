//! `GET /v2/projects/{project}/logical-clouds/{cloud}/status`

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;

use crate::documented::place::{Asked, At, InCloud, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InCloud { project, cloud }): At<InCloud>,
    Asked(Nothing {}): Asked<Nothing>,
) -> Result<impl IntoResponse, Problem> {
    Ok(Json(services.clouds.status(&project, &cloud).await?))
}
