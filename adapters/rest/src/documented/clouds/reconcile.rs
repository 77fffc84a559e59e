//! `POST /v2/projects/{project}/logical-clouds/{cloud}/reconcile`

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
    it.says(
        "Take what is stored as the truth",
        "Where clusters hold later changes than the store: after that was restored from an old copy.",
    )
    .answers(StatusCode::ACCEPTED, Answer::empty("It is accepted.").located())
    .fails(&[Kind::WrongState])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(place): At<InCloud>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    Unconditional: Unconditional,
) -> Result<impl IntoResponse, Problem> {
    services.clouds.reconcile(&caller, &place.project, &place.cloud).await?;
    accepted(&place)
}
