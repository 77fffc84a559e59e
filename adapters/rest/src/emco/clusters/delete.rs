//! `DELETE /v2/cluster-providers/{clusterProvider}/clusters/{cluster}`: a cluster that has neither labels nor key-value pairs.

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::service::Remains;

use crate::emco::names::Names;
use crate::emco::problem::Problem;
use crate::request::Asking;
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
    Asking(caller): Asking,
) -> Result<StatusCode, Problem> {
    let id = names.cluster().map_err(|_| Problem::absent())?;
    let found = services.registered.get(&id).await.map_err(Problem::of_deletion)?.registration;
    if !found.labels.is_empty() || !found.key_values.is_empty() {
        return Err(Problem::has_children());
    }
    services.registered.remove(&caller, &id, Remains::Refuse).await.map_err(Problem::of_deletion)?;
    Ok(StatusCode::NO_CONTENT)
}
