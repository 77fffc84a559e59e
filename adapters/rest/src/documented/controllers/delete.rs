//! `DELETE`: the record of a controller.

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::service::Revision;

use super::{Group, One};
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::If;
use crate::request::Asking;

/// What the document says of it.
pub(super) fn describe<G: Group>(it: Operation) -> Operation {
    it.says(format!("Delete {}", G::ONE), "").answers(StatusCode::NO_CONTENT, Answer::empty("It is deleted."))
}

pub(super) async fn handle<G: Group>(
    State(services): State<Shared>,
    At(One { controller }): At<One>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    when: If<Revision>,
) -> Result<StatusCode, Problem> {
    let deleted = services.controllers.delete(&caller, G::GROUP, &controller, &when.condition).await;
    deleted.map_err(|error| when.told(error.into()))?;
    Ok(StatusCode::NO_CONTENT)
}
