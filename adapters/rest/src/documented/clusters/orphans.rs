//! `GET /v2/cluster-providers/{provider}/clusters/{cluster}/orphans`: what it holds of ours that the store does not know of.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use dcm_core::name::ContextId;
use dcm_core::service::Orphans;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{OneCluster, of_orphans};
use crate::access::Asker;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;

/// Which ones.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::documented) struct Which {
    /// Only those of this app context.
    context: Option<ContextId>,
}

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "List orphans",
        "Objects with our marks that the store does not know of, as a store that was lost leaves them.",
    )
    .answers(StatusCode::OK, Answer::json::<Orphans>("What was found."))
    .fails(&[Kind::WrongState, Kind::NotReady])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(cluster): At<OneCluster>,
    Asked(Which { context }): Asked<Which>,
    asker: Asker,
) -> Result<impl IntoResponse, Problem> {
    let id = cluster.id();
    services.registered.get(&id).await?;
    let mut found = services.look(&asker)?.orphans(&id).await.map_err(|error| of_orphans(&id, error))?;
    found.orphans.retain(|orphan| context.as_ref().is_none_or(|context| orphan.context == *context));
    Ok(Json(found))
}
