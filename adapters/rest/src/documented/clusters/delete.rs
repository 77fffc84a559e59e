//! `DELETE /v2/cluster-providers/{provider}/clusters/{cluster}`

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::service::Remains;
use serde::Deserialize;

use super::OneCluster;
use crate::documented::place::{Asked, At};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::Unconditional;
use crate::request::Asking;

/// What becomes of what is left there.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::documented) struct How {
    /// It is left there and forgotten: the cluster does not return.
    #[serde(default)]
    leave_behind: bool,
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(cluster): At<OneCluster>,
    Asked(how): Asked<How>,
    Asking(caller): Asking,
    Unconditional: Unconditional,
) -> Result<StatusCode, Problem> {
    let remains = if how.leave_behind { Remains::LeaveBehind } else { Remains::Refuse };
    services.registered.remove(&caller, &cluster.id(), remains).await?;
    Ok(StatusCode::NO_CONTENT)
}
