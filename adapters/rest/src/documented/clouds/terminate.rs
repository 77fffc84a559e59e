//! `POST /v2/projects/{project}/logical-clouds/{cloud}/terminate`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;

use super::accepted;
use super::removal::How;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::Unconditional;
use crate::request::Asking;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Take a logical cloud off its clusters",
        "Its documents stay. The answer does not wait for the clusters.",
    )
    .answers(StatusCode::ACCEPTED, Answer::empty("It is accepted.").located())
    .fails(&[Kind::WrongState])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(place): At<InCloud>,
    Asked(how): Asked<How>,
    Asking(caller): Asking,
    Unconditional: Unconditional,
) -> Result<impl IntoResponse, Problem> {
    services.clouds.terminate(&caller, &place.project, &place.cloud, how.removal()?).await?;
    accepted(&place)
}
