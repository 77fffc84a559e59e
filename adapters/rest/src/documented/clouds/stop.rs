//! `POST /v2/projects/{project}/logical-clouds/{cloud}/stop`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use dcm_core::port::synchronizer::Error as Failure;
use dcm_core::service::Error;

use super::accepted;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud, Nothing};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::Unconditional;
use crate::request::{Asking, STOP_WAIT};

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says("Pause what is under way", "Nothing new begins on clusters until it is resumed.")
        .answers(StatusCode::ACCEPTED, Answer::empty("It is paused, or soon is.").located())
        .fails(&[Kind::WrongState])
}

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
