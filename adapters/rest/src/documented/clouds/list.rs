//! `GET /v2/projects/{project}/logical-clouds`

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use axum::response::IntoResponse;
use dcm_core::name::LogicalCloudName;

use crate::documented::objects::Summary;
use crate::documented::page::{Page, Wanted};
use crate::documented::place::{Asked, At, InProject};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InProject { project }): At<InProject>,
    Asked(wanted): Asked<Wanted<LogicalCloudName>>,
    uri: Uri,
) -> Result<impl IntoResponse, Problem> {
    let limit = wanted.limit()?;
    let page = services.clouds.list(&project, wanted.after.as_ref(), Some(limit)).await?;
    let items = page.clouds.into_iter().map(Summary::from).collect();
    Ok(Json(Page::new(items, page.broken, page.next, limit, &uri)))
}
