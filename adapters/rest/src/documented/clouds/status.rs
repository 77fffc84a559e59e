//! `GET /v2/projects/{project}/logical-clouds/{cloud}/status`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use dcm_core::service::CloudStatus;

use crate::access::Asker;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Read how far a logical cloud is",
        "Cloud, clusters, objects, and the cause where one is not as desired. The `detail` of a cause is for platform admins.",
    )
    .answers(StatusCode::OK, Answer::json::<CloudStatus>("The status."))
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InCloud { project, cloud }): At<InCloud>,
    Asked(Nothing {}): Asked<Nothing>,
    asker: Asker,
) -> Result<impl IntoResponse, Problem> {
    Ok(Json(services.clouds.status(&project, &cloud).await?.restricted_to(asker.reader())))
}
