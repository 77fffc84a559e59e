//! `GET /v2/cluster-providers/{provider}/clusters/{cluster}`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;

use super::{OneCluster, answer};
use crate::access::Asker;
use crate::documented::objects::ClusterAnswer;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::etag;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says("Read a cluster", "Its kubeconfig is never answered.")
        .answers(StatusCode::OK, Answer::json::<ClusterAnswer>("The cluster.").tagged())
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    asker: Asker,
    At(cluster): At<OneCluster>,
    Asked(Nothing {}): Asked<Nothing>,
) -> Result<impl IntoResponse, Problem> {
    let found = services.registered.get(&cluster.id()).await?;
    Ok(([etag(&found.revision)], Json(answer(&services, &asker, found).await?)))
}
