//! `POST /v2/projects/{project}/logical-clouds/{cloud}/stop`

use axum::extract::State;
use axum::response::IntoResponse;
use dcm_core::port::synchronizer::Error as Failure;
use dcm_core::service::Error;

use super::accepted;
use crate::documented::place::{Asked, At, InCloud, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::Unconditional;
use crate::request::{Asking, STOP_WAIT};

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(place): At<InCloud>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    Unconditional: Unconditional,
) -> Result<impl IntoResponse, Problem> {
    match services.clouds.stop(&caller, &place.project, &place.cloud, STOP_WAIT).await {
        Ok(()) | Err(Error::Synchronizer(Failure::StillUnderWay { .. })) => accepted(&place),
        Err(error) => Err(error.into()),
    }
}
