//! `DELETE /v2/cluster-providers/{provider}/clusters/{cluster}`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use dcm_core::port::synchronizer::Tombstone;
use dcm_core::service::Remains;
use schemars::JsonSchema;
use serde::Deserialize;

use super::OneCluster;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::Unconditional;
use crate::documented::warnings;
use crate::request::Asking;

/// What becomes of what is left there.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::documented) struct How {
    /// It is left there and forgotten: the cluster does not return.
    #[serde(default)]
    leave_behind: bool,
}

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says("Register a cluster no more", "It is refused while logical clouds use it.")
        .answers(StatusCode::NO_CONTENT, Answer::empty("It is registered no more.").warned())
        .fails(&[Kind::WrongState, Kind::InUse])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(cluster): At<OneCluster>,
    Asked(how): Asked<How>,
    Asking(caller): Asking,
    Unconditional: Unconditional,
) -> Result<impl IntoResponse, Problem> {
    let remains = if how.leave_behind { Remains::LeaveBehind } else { Remains::Refuse };
    let left = services.registered.remove(&caller, &cluster.id(), remains).await?;
    Ok((StatusCode::NO_CONTENT, warnings::headers(left.iter().flat_map(Tombstone::left_behind))))
}
