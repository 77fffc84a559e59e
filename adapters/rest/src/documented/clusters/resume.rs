//! `POST /v2/cluster-providers/{provider}/clusters/{cluster}/resume`

use axum::extract::State;
use axum::http::StatusCode;

use super::OneCluster;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::Unconditional;
use crate::request::Asking;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says("Go on with all work on a cluster", "")
        .answers(StatusCode::ACCEPTED, Answer::empty("It goes on."))
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(cluster): At<OneCluster>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    Unconditional: Unconditional,
) -> Result<StatusCode, Problem> {
    services.registered.resume(&caller, &cluster.id()).await?;
    Ok(StatusCode::ACCEPTED)
}
