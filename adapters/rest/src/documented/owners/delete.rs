//! `DELETE`: an owner that owns nothing.

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::service::Revision;

use super::{Named, Served};
use crate::documented::place::{Asked, At, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::If;
use crate::request::Asking;

pub(super) async fn handle<K: Served>(
    State(services): State<Shared>,
    At(Named { owner }): At<Named<K::Name>>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    when: If<Revision>,
) -> Result<StatusCode, Problem> {
    let deleted = K::owners(&services).delete_if(&caller, &owner, &when.condition).await;
    deleted.map_err(|error| when.told(error.into()))?;
    Ok(StatusCode::NO_CONTENT)
}
