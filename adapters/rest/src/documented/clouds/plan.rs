//! `GET /v2/projects/{project}/logical-clouds/{cloud}/plan`: what an apply would do now.

use axum::http::StatusCode;
use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use dcm_core::logical_cloud::Draft;
use dcm_core::name::{ClusterId, LogicalCloudName, ProjectName};
use dcm_core::plan::{Outline, PlanHash};
use dcm_core::service::{Caller, Error};
use dcm_sync::planning::Rehearsing;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Asker;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::installation::PlannedDraft;
use crate::lookers::Look;
use crate::request::Asking;

/// What an apply would do.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Plan {
    /// What it is recognised by when it is applied.
    hash: PlanHash,
    /// The project that owns the logical cloud.
    project: ProjectName,
    /// The logical cloud.
    name: LogicalCloudName,
    /// True when it is not stored: names that carry its UID are those of UID 0.
    is_new: bool,
    /// What it would do on each cluster.
    clusters: BTreeMap<ClusterId, Outline>,
}

impl Plan {
    /// Plans what an apply of a draft would do; asks all clusters that it concerns, and writes nothing. Who may not apply it is not told
    /// what their API servers would make of it: that takes requests that are like those of the apply.
    pub(super) async fn of(
        look: &Look<'_>,
        (asker, caller): (&Asker, &Caller),
        place: InCloud,
        draft: &Draft,
        how: &How,
    ) -> Result<Self, Error> {
        let InCloud { project, cloud } = place;
        let rehearses = how.rehearse && asker.may_change(&project);
        let rehearsing = if rehearses { Rehearsing::Writes } else { Rehearsing::Nothing };
        let PlannedDraft { is_new, planned } = look.plan_draft(caller, &project, draft, rehearsing).await?;
        Ok(Self {
            hash: planned.hash(),
            project,
            name: cloud,
            is_new,
            clusters: planned.outline(asker.reader()),
        })
    }
}

/// In which way it is planned.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::documented) struct How {
    /// Each write is rehearsed. The hash is the same without. Default: true.
    #[serde(default = "rehearsed")]
    rehearse: bool,
}

fn rehearsed() -> bool {
    true
}

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Plan what an apply would do",
        "Each cluster is asked, each write is rehearsed there, and nothing is written. With the `hash`, an apply does what was planned and \
         nothing else.",
    )
    .answers(StatusCode::OK, Answer::json::<Plan>("The plan."))
    .fails(&[Kind::WrongState, Kind::InUse, Kind::Invalid])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(place): At<InCloud>,
    Asked(how): Asked<How>,
    asker: Asker,
    Asking(caller): Asking,
) -> Result<impl IntoResponse, Problem> {
    let found = services.clouds.get(&place.project, &place.cloud).await?;
    let draft = found.cloud.to_draft();
    let plan = Plan::of(&services.look(&asker)?, (&asker, &caller), place, &draft, &how)
        .await
        .map_err(Problem::of_action)?;
    Ok(Json(plan))
}
