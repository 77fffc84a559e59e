//! `DELETE`: the record of a controller.

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::service::Precondition;

use super::{Group, name};
use crate::emco::names::Names;
use crate::emco::problem::Problem;
use crate::request::Asking;
use crate::route::Shared;

pub(super) async fn handle<G: Group>(
    State(services): State<Shared>,
    names: Names,
    Asking(caller): Asking,
) -> Result<StatusCode, Problem> {
    let (name, any) = (name::<G>(&names).map_err(|_| Problem::absent())?, Precondition::default());
    let deleted = services.controllers.delete(&caller, G::GROUP, &name, &any).await;
    deleted.map_err(Problem::of_deletion)?;
    Ok(StatusCode::NO_CONTENT)
}
