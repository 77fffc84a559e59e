//! `POST /v2/projects/{project}/logical-clouds/{cloud}/apply`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use dcm_core::logical_cloud::LogicalCloud;
use dcm_core::plan::PlanHash;
use dcm_core::service::EditId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Asker;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::If;
use crate::documented::warnings;
use crate::installation::DeclareError;
use crate::request::Asking;

/// In which way it is applied.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::documented) struct How {
    /// Only what the plan with this hash says is done.
    plan_hash: Option<PlanHash>,
}

/// What is brought to the clusters.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "AppliedLogicalCloud")]
struct Applied {
    /// The logical cloud.
    logical_cloud_name: String,
    /// Its namespace; an admin cloud has none of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    /// What it is for.
    description: String,
    /// Its first user.
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    /// The names of its cluster references, those that its selector adds not counted.
    clusters: Vec<String>,
    /// Its first quota.
    #[serde(skip_serializing_if = "Option::is_none")]
    quota_name: Option<String>,
}

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    let done = "It is accepted, and brought to its clusters. Its status tells how far that is.";
    it.says(
        "Bring a logical cloud to its clusters",
        "It is brought to them as its documents are, and the answer does not wait for that. While other work is under way, or paused, it \
         is refused. What later edits changed is brought by the next apply.",
    )
    .without_header("If-None-Match")
    .answers(StatusCode::OK, Answer::json::<Applied>(done).warned())
    .fails(&[Kind::WrongState, Kind::InUse, Kind::PlanStale])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InCloud { project, cloud }): At<InCloud>,
    Asked(how): Asked<How>,
    asker: Asker,
    Asking(caller): Asking,
    when: If<EditId>,
) -> Result<impl IntoResponse, Problem> {
    let (named, known) = ((&project, &cloud), when.of_action()?);
    // Without a plan nothing is looked at.
    let look = services.look_if(how.plan_hash.is_some(), &asker)?;
    let applying = look.apply(&caller, named, known, how.plan_hash.into());
    let applied = applying.await.map_err(|error| match error {
        DeclareError::Stale(stale) => stale.into(),
        DeclareError::Service(error) | DeclareError::NotApplied(error) => Problem::of_action(error),
    })?;
    Ok((warnings::headers(&applied.warnings), Json(Applied::of(&applied.cloud))))
}

impl Applied {
    fn of(cloud: &LogicalCloud) -> Self {
        Self {
            logical_cloud_name: cloud.name().to_string(),
            namespace: cloud.namespace().map(ToString::to_string),
            description: cloud.metadata().description.clone(),
            user: cloud.users().first().map(|user| user.metadata.name.to_string()),
            clusters: cloud.references().iter().map(|one| one.metadata.name.to_string()).collect(),
            quota_name: cloud.quotas().first().map(|quota| quota.metadata.name.to_string()),
        }
    }
}
