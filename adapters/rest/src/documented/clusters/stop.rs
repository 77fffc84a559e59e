//! `POST /v2/cluster-providers/{provider}/clusters/{cluster}/stop`

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::port::synchronizer::Error as Failure;
use dcm_core::service::Error;

use super::OneCluster;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::Unconditional;
use crate::request::{Asking, STOP_WAIT};

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says("Pause all work on a cluster", "Nothing new begins there until it is resumed.")
        .answers(StatusCode::ACCEPTED, Answer::empty("It is paused, or soon is."))
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(cluster): At<OneCluster>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    Unconditional: Unconditional,
) -> Result<StatusCode, Problem> {
    match services.registered.stop(&caller, &cluster.id(), STOP_WAIT).await {
        Ok(()) | Err(Error::Synchronizer(Failure::StillUnderWay { .. })) => Ok(StatusCode::ACCEPTED),
        Err(error) => Err(error.into()),
    }
}
