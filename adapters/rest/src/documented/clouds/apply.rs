//! `POST /v2/projects/{project}/logical-clouds/{cloud}/apply`

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use dcm_core::logical_cloud::LogicalCloud;
use dcm_core::service::{ApplyCondition, EditId, Error};
use schemars::JsonSchema;
use serde::Serialize;

use crate::documented::place::{Asked, At, InCloud, Nothing};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::If;
use crate::documented::warnings;
use crate::request::Asking;

/// What is brought to the clusters.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
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

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InCloud { project, cloud }): At<InCloud>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    when: If<EditId>,
) -> Result<impl IntoResponse, Problem> {
    let condition = ApplyCondition { known: when.of_action()?, is_idle: true };
    let applied = services.clouds.apply_if(&caller, &project, &cloud, &condition).await.map_err(refused)?;
    Ok((warnings::headers(&applied.warnings), Json(Applied::of(&applied.cloud))))
}

/// An error of an apply: what breaks a rule is in no body.
fn refused(error: Error) -> Problem {
    match error {
        Error::Refused(refusals) => Problem::new(Kind::WrongState, refusals.to_string()),
        error => error.into(),
    }
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
