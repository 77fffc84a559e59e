//! `DELETE`: an owner that owns nothing.

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::service::Revision;

use super::Served;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, Nothing};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::If;
use crate::request::Asking;

/// What the document says of it.
pub(super) fn describe<K: Served>(it: Operation) -> Operation {
    it.says(format!("Delete {}", K::ONE), "It is refused while it owns something.")
        .answers(StatusCode::NO_CONTENT, Answer::empty("It is deleted."))
        .fails(&[Kind::InUse])
}

pub(super) async fn handle<K: Served>(
    State(services): State<Shared>,
    At(place): At<K::Place>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    when: If<Revision>,
) -> Result<StatusCode, Problem> {
    let owner = place.into();
    let deleted = K::owners(&services).delete_if(&caller, &owner, &when.condition).await;
    deleted.map_err(|error| when.told(error.into()))?;
    Ok(StatusCode::NO_CONTENT)
}
