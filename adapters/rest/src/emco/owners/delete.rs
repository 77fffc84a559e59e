//! `DELETE`: an owner that owns nothing.

use axum::extract::State;
use axum::http::StatusCode;

use super::Served;
use crate::emco::names::Names;
use crate::emco::problem::Problem;
use crate::request::Asking;
use crate::route::Shared;

pub(super) async fn handle<K: Served>(
    State(services): State<Shared>,
    names: Names,
    Asking(caller): Asking,
) -> Result<StatusCode, Problem> {
    K::owners(&services).delete(&caller, &K::named(&names)?).await.map_err(K::refused_deletion)?;
    Ok(StatusCode::NO_CONTENT)
}
