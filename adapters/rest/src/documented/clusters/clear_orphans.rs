//! `DELETE /v2/cluster-providers/{provider}/clusters/{cluster}/orphans/{context}`: removes the orphans of one app context, or
//! releases them.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use dcm_core::name::{ClusterId, ClusterName, ClusterProviderName, ContextId};
use dcm_core::port::synchronizer::Disposal;
use dcm_core::service::Orphans;
use schemars::JsonSchema;
use serde::Deserialize;

use super::of_orphans;
use crate::access::Asker;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::Unconditional;
use crate::request::Asking;

/// The orphans of one app context on a cluster.
#[derive(Deserialize, JsonSchema)]
pub(in crate::documented) struct OfContext {
    /// The cluster provider.
    provider: ClusterProviderName,
    /// The cluster.
    cluster: ClusterName,
    /// The app context.
    context: ContextId,
}

/// In which way they are cleared.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::documented) struct How {
    /// Our marks come off, and they stay, but for bindings.
    #[serde(default)]
    keep_objects: bool,
}

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Clear the orphans of an app context",
        "They are removed, or with `keep-objects` our marks are taken off; bindings are removed in any case.",
    )
    .answers(StatusCode::OK, Answer::json::<Orphans>("What was done to each."))
    .fails(&[Kind::WrongState, Kind::NotReady])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(OfContext { provider, cluster, context }): At<OfContext>,
    Asked(How { keep_objects }): Asked<How>,
    asker: Asker,
    Asking(caller): Asking,
    Unconditional: Unconditional,
) -> Result<impl IntoResponse, Problem> {
    let id = ClusterId { provider, cluster };
    services.registered.get(&id).await?;
    let disposal = if keep_objects { Disposal::Keep } else { Disposal::Delete };
    let cleared = services.look(&asker)?.clear_orphans(&caller, &id, &context, disposal).await;
    Ok(Json(cleared.map_err(|error| of_orphans(&id, error))?))
}
