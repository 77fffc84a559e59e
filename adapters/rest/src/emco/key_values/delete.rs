//! `DELETE …/clusters/{cluster}/kv-pairs/{clusterKv}`

use axum::extract::State;
use axum::http::StatusCode;

use super::name;
use crate::emco::names::Names;
use crate::emco::problem::Problem;
use crate::request::Asking;
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
    Asking(caller): Asking,
) -> Result<StatusCode, Problem> {
    let absent = |_| Problem::absent();
    let (id, name) = (names.cluster().map_err(absent)?, name(&names).map_err(absent)?);
    let deleted = services.registered.delete_key_values(&caller, &id, &name).await;
    deleted.map_err(Problem::of_deletion)?;
    Ok(StatusCode::NO_CONTENT)
}
