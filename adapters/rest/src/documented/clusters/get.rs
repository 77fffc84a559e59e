//! `GET /v2/cluster-providers/{provider}/clusters/{cluster}`

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;

use super::OneCluster;
use crate::documented::objects::ClusterAnswer;
use crate::documented::place::{Asked, At, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::etag;

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(cluster): At<OneCluster>,
    Asked(Nothing {}): Asked<Nothing>,
) -> Result<impl IntoResponse, Problem> {
    let found = services.registered.get(&cluster.id()).await?;
    Ok(([etag(&found.revision)], Json(ClusterAnswer::from(found))))
}
