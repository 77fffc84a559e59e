//! `POST /v2/projects/{project}/logical-clouds/{cloud}/stop`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;

use super::accepted;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::stopping::{self, STOPPED, Waiting};
use crate::documented::tag::Unconditional;
use crate::request::Asking;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says("Pause what is under way", "Nothing new begins on clusters until it is resumed.")
        .answers(StatusCode::ACCEPTED, Answer::empty(STOPPED).located().put_off())
        .fails(&[Kind::WrongState])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(place): At<InCloud>,
    Asked(waiting): Asked<Waiting>,
    Asking(caller): Asking,
    Unconditional: Unconditional,
) -> Result<impl IntoResponse, Problem> {
    let stopped = services.clouds.stop(&caller, &place.project, &place.cloud, waiting.limit()?).await;
    Ok((stopping::headers(stopped)?, accepted(&place)?))
}
