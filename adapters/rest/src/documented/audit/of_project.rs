//! `GET /v2/projects/{project}/audit`: the decisions about a project and its logical clouds.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use axum::response::IntoResponse;

use super::{Which, page};
use crate::documented::place::{Asked, At, InProject};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InProject { project }): At<InProject>,
    Asked(which): Asked<Which>,
    uri: Uri,
) -> Result<impl IntoResponse, Problem> {
    Ok(Json(page(&services, Some(&project), which, &uri).await?))
}
