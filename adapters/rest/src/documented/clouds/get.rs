//! `GET /v2/projects/{project}/logical-clouds/{cloud}`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;

use crate::documented::objects::LogicalCloudBody;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::etag;
use crate::documented::warnings;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says("Read a logical cloud", "")
        .answers(StatusCode::OK, Answer::json::<LogicalCloudBody>("The logical cloud.").tagged().warned())
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InCloud { project, cloud }): At<InCloud>,
    Asked(Nothing {}): Asked<Nothing>,
) -> Result<impl IntoResponse, Problem> {
    let found = services.clouds.get(&project, &cloud).await?;
    let body = LogicalCloudBody::of(&found.cloud);
    Ok(([etag(found.id())], warnings::headers(&found.warnings), Json(body)))
}
