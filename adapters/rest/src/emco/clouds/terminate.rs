//! `POST /v2/projects/{project}/logical-clouds/{logicalCloud}/terminate`

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::port::synchronizer::Removal;

use super::rules::{self, Asked};
use crate::emco::names::Names;
use crate::emco::problem::Problem;
use crate::request::Asking;
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
    Asking(caller): Asking,
) -> Result<StatusCode, Problem> {
    let ((project, cloud), clouds) = (names.cloud()?, &services.clouds);
    rules::check(Asked::Terminate, clouds.state(&project, &cloud).await?)?;
    clouds.terminate(&caller, &project, &cloud, Removal::default()).await?;
    Ok(StatusCode::ACCEPTED)
}
