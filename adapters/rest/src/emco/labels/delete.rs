//! `DELETE …/clusters/{cluster}/labels/{clusterLabel}`

use axum::extract::State;
use axum::http::StatusCode;

use crate::emco::names::Names;
use crate::emco::problem::Problem;
use crate::request::Asking;
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
    Asking(caller): Asking,
) -> Result<StatusCode, Problem> {
    let (id, label) = (names.cluster().map_err(|_| Problem::absent())?, names.text("clusterLabel"));
    let deleted = services.registered.delete_label(&caller, &id, label).await;
    deleted.map_err(Problem::of_deletion)?;
    Ok(StatusCode::NO_CONTENT)
}
