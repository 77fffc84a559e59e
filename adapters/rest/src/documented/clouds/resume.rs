//! `POST /v2/projects/{project}/logical-clouds/{cloud}/resume`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;

use super::accepted;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud, Nothing};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::Unconditional;
use crate::request::Asking;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says("Go on with what was paused", "")
        .answers(StatusCode::ACCEPTED, Answer::empty("It goes on.").located())
        .fails(&[Kind::WrongState])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(place): At<InCloud>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    Unconditional: Unconditional,
) -> Result<impl IntoResponse, Problem> {
    services.clouds.resume(&caller, &place.project, &place.cloud).await?;
    accepted(&place)
}
