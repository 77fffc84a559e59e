//! `GET /v2/cluster-providers/{provider}/clusters/{cluster}/check`

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use dcm_core::logical_cloud::Level;
use dcm_core::port::cluster::ClusterUid;
use dcm_core::preflight::{Findings, Needs};
use serde::{Deserialize, Serialize};

use super::{OneCluster, unasked};
use crate::documented::place::{Asked, At};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::installation::Inspection;

/// What the cluster is to be ready for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::documented) struct For {
    #[serde(default)]
    level: Level,
}

/// What was found.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    is_ready: bool,
    #[serde(flatten)]
    findings: Findings,
    /// The UID of the cluster that was found in the place of the one that its name stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<ClusterUid>,
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(cluster): At<OneCluster>,
    Asked(For { level }): Asked<For>,
) -> Result<impl IntoResponse, Problem> {
    let found = services.registered.get(&cluster.id()).await?.registration;
    let inspected = services.installation.inspect(&found, &Needs::of_level(level)).await;
    let Inspection { findings, other } = inspected.map_err(|error| unasked(&found, &error))?;
    let is_ready = findings.is_ready() && other.is_none();
    Ok(Json(Found { is_ready, findings, other: other.map(|other| other.found) }))
}
