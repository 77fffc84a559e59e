//! `GET /v2/projects`

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use axum::response::IntoResponse;
use dcm_core::name::ProjectName;

use super::body;
use crate::documented::page::{Page, Wanted};
use crate::documented::place::Asked;
use crate::documented::problem::Problem;
use crate::documented::route::Shared;

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    Asked(wanted): Asked<Wanted<ProjectName>>,
    uri: Uri,
) -> Result<impl IntoResponse, Problem> {
    let limit = wanted.limit()?;
    let page = services.projects.list(wanted.after.as_ref(), Some(limit)).await?;
    let items = page.projects.into_iter().map(body).collect();
    Ok(Json(Page::new(items, page.broken, page.next, limit, &uri)))
}
