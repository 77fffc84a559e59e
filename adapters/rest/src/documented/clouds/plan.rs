//! `GET /v2/projects/{project}/logical-clouds/{cloud}/plan`: what an apply would do now.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use dcm_core::logical_cloud::Draft;
use dcm_core::name::{ClusterId, LogicalCloudName, ProjectName};
use dcm_core::plan::PlanHash;
use dcm_core::service::{Error, Foreseen};
use dcm_sync::planning::{self, Outline, Planned};
use serde::Serialize;

use crate::documented::place::{Asked, At, InCloud, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::services::Services;

/// What an apply would do.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Plan {
    /// What it is recognised by when it is applied.
    hash: PlanHash,
    project: ProjectName,
    name: LogicalCloudName,
    /// True when it is not stored: names that carry its UID are those of UID 0.
    is_new: bool,
    clusters: BTreeMap<ClusterId, Outline>,
}

impl Plan {
    /// Plans what an apply of a draft would do; asks all clusters that it concerns, and writes nothing.
    pub(super) async fn of(services: &Services, place: InCloud, draft: Draft) -> Result<Self, Error> {
        let InCloud { project, cloud } = place;
        let Foreseen { is_new, context, .. } = services.clouds.foresee(&project, draft).await?;
        let planned = services.planner.plan(vec![context]).await.map_err(Error::Synchronizer)?;
        let clusters = planned.iter().flat_map(Planned::outline).collect();
        Ok(Self { hash: planning::hash(&planned), project, name: cloud, is_new, clusters })
    }
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(place): At<InCloud>,
    Asked(Nothing {}): Asked<Nothing>,
) -> Result<impl IntoResponse, Problem> {
    let found = services.clouds.get(&place.project, &place.cloud).await?;
    let plan = Plan::of(&services, place, found.cloud.to_draft()).await.map_err(Problem::of_action)?;
    Ok(Json(plan))
}
