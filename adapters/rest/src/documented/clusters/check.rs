//! `GET /v2/cluster-providers/{provider}/clusters/{cluster}/check`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use dcm_core::logical_cloud::Level;
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::ClusterUid;
use dcm_core::preflight::{Findings, Inspection, Needs, Other};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{OneCluster, of_registered};
use crate::access::Asker;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::services::Services;

/// What the cluster is to be ready for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::documented) struct For {
    /// The highest level of logical clouds that will be on it.
    #[serde(default)]
    level: Level,
}

/// What was found.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CheckedCluster")]
pub(super) struct Found {
    /// Nothing is missing, and it is no other cluster than before, and none that has another name, and its endpoint is accepted.
    is_ready: bool,
    #[serde(flatten)]
    findings: Findings,
    /// The UID of the cluster that was found in the place of the one that its name stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<ClusterUid>,
    /// With `other`: that of the one that its name stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<ClusterUid>,
    /// The other name under which the cluster is registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    registered_as: Option<ClusterId>,
    /// The kubeconfig leads to another server, or trusts other authorities, than the accepted one: it is not used until it is accepted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    moved: bool,
    /// With `moved`: the UID of the cluster that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<ClusterUid>,
}

impl From<Inspection> for Found {
    fn from(inspection: Inspection) -> Self {
        let is_ready = inspection.is_ready();
        let Inspection { findings, other, twin, uid, is_moved: moved } = inspection;
        let (other, known) = other.map(|Other { known, found }| (found, known)).unzip();
        let (registered_as, uid) = (twin.map(|twin| twin.first), uid.filter(|_| moved));
        Self { is_ready, findings, other, known, registered_as, moved, uid }
    }
}

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says("Check whether a cluster is ready", "Its version, its clock and its rights are looked at now.")
        .answers(StatusCode::OK, Answer::json::<Found>("What was found."))
        .fails(&[Kind::NotReady])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(cluster): At<OneCluster>,
    Asked(For { level }): Asked<For>,
    asker: Asker,
) -> Result<impl IntoResponse, Problem> {
    registered(&services, &asker, &cluster.id(), &Needs::of_level(level)).await
}

/// Looks at a cluster by what is registered of it.
pub(super) async fn registered(
    services: &Services,
    asker: &Asker,
    id: &ClusterId,
    needs: &Needs,
) -> Result<Json<Found>, Problem> {
    let found = services.registered.get(id).await?.registration;
    let inspected = services.look(asker)?.inspect(&found, needs).await;
    Ok(Json(Found::from(inspected.map_err(|error| of_registered(&found, error))?)))
}
