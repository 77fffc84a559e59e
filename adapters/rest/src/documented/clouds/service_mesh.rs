//! `GET /v2/projects/{project}/logical-clouds/{cloud}/service-mesh`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use dcm_core::service::ServiceMeshDocument;

use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Read the service mesh of a logical cloud",
        "Its namespace, its trust domain, and the certificates of its authorities: the root, and one of each cluster with the time at which it is \
         renewed. A logical cloud without a mesh has none (404).",
    )
    .answers(StatusCode::OK, Answer::json::<ServiceMeshDocument>("The service mesh."))
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InCloud { project, cloud }): At<InCloud>,
    Asked(Nothing {}): Asked<Nothing>,
) -> Result<impl IntoResponse, Problem> {
    Ok(Json(services.clouds.service_mesh(&project, &cloud).await?))
}
