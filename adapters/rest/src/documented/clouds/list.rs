//! `GET /v2/projects/{project}/logical-clouds`

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::IntoResponse;
use dcm_core::name::LogicalCloudName;

use crate::documented::objects::Summary;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::page::LABELLED;
use crate::documented::page::{self, Labelled, Page};
use crate::documented::place::{Asked, At, InProject};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says("List the logical clouds of a project", LABELLED)
        .answers(StatusCode::OK, Answer::json::<Page<Summary>>("A page, in the order of names."))
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InProject { project }): At<InProject>,
    Asked(wanted): Asked<Labelled<LogicalCloudName>>,
    uri: Uri,
) -> Result<impl IntoResponse, Problem> {
    let (limit, selector) = (page::checked(wanted.limit)?, wanted.selector()?);
    let page = services.clouds.list(&project, wanted.after.as_ref(), Some(limit)).await?;
    let selected = page.clouds.into_iter().filter(|cloud| selector.matches(&cloud.labels));
    let items = selected.map(Summary::from).collect();
    Ok(Json(Page::new(items, page.broken, page.next, limit, &uri)))
}
