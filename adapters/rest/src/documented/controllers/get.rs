//! `GET`: one controller.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;

use super::{Group, One};
use crate::documented::objects::ControllerBody;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::etag;

/// What the document says of it.
pub(super) fn describe<G: Group>(it: Operation) -> Operation {
    it.says(format!("Read {}", G::ONE), "")
        .answers(StatusCode::OK, Answer::json::<ControllerBody>("It, as it is.").tagged())
}

pub(super) async fn handle<G: Group>(
    State(services): State<Shared>,
    At(One { controller }): At<One>,
    Asked(Nothing {}): Asked<Nothing>,
) -> Result<impl IntoResponse, Problem> {
    let found = services.controllers.get(G::GROUP, &controller).await?;
    Ok(([etag(&found.revision)], Json(ControllerBody::from(found.record))))
}
