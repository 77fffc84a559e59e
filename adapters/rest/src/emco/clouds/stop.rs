//! `POST /v2/projects/{project}/logical-clouds/{logicalCloud}/stop`

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::port::synchronizer::Error as Failure;
use dcm_core::service::Error;

use super::rules::{self, Asked};
use crate::emco::names::Names;
use crate::emco::problem::Problem;
use crate::request::{Asking, STOP_WAIT};
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
    Asking(caller): Asking,
) -> Result<StatusCode, Problem> {
    let ((project, cloud), clouds) = (names.cloud()?, &services.clouds);
    rules::check(Asked::Stop, clouds.state(&project, &cloud).await?)?;
    match clouds.stop(&caller, &project, &cloud, STOP_WAIT).await {
        Ok(()) | Err(Error::Synchronizer(Failure::StillUnderWay { .. })) => Ok(StatusCode::OK),
        Err(error) => Err(error.into()),
    }
}
