//! `POST /v2/cluster-providers/{provider}/clusters/{cluster}/stop`

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::port::synchronizer::Error as Failure;
use dcm_core::service::Error;

use super::OneCluster;
use crate::documented::place::{Asked, At, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::Unconditional;
use crate::request::{Asking, STOP_WAIT};

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
