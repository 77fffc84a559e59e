//! `GET /v2/projects/{project}/logical-clouds`

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::IntoResponse;
use dcm_core::name::{LogicalCloudName, ProjectName};
use dcm_core::service::{self, Error};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::documented::objects::Summary;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::page::{self, LABELLED, Page};
use crate::documented::place::{Asked, At, InProject};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::services::Services;

/// Of how many logical clouds it is found out at once how far they are.
const LOOKS_AT_ONCE: usize = 8;

/// How many items at most of which it is found out how far they are: each has a record for each of its clusters.
const PROGRESS_LIMIT_MAX: usize = 100;

/// What part of the list is asked for, and how much of each.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::documented) struct Wanted {
    /// Where to go on: behind what has this name.
    after: Option<LogicalCloudName>,
    /// How many items at most. Default: 100.
    #[schemars(range(min = 1, max = page::LIMIT_MAX))]
    limit: Option<usize>,
    /// Only what has such labels, as Kubernetes writes it: `tier=edge,zone in (a,b),!old`.
    label_selector: Option<String>,
    /// Tells how far each one is, too; then there are 100 items at most. Default: false.
    #[serde(default)]
    progress: bool,
}

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says("List the logical clouds of a project", LABELLED)
        .answers(StatusCode::OK, Answer::json::<Page<Summary>>("A page, in the order of names."))
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InProject { project }): At<InProject>,
    Asked(wanted): Asked<Wanted>,
    uri: Uri,
) -> Result<impl IntoResponse, Problem> {
    let limit = page::checked(wanted.limit)?;
    if wanted.progress && limit > PROGRESS_LIMIT_MAX {
        return Err(Problem::new(
            Kind::Malformed,
            format!("limit must be 1 to {PROGRESS_LIMIT_MAX} with progress"),
        ));
    }
    let selector = page::selector(wanted.label_selector.as_deref())?;
    let page = services.clouds.list(&project, wanted.after.as_ref(), Some(limit)).await?;
    let selected = page.clouds.into_iter().filter(|cloud| selector.matches(&cloud.labels));
    let items = if wanted.progress {
        let looks = selected.map(|cloud| with_progress(&services, &project, cloud));
        let looked: Vec<_> = stream::iter(looks).buffered(LOOKS_AT_ONCE).try_collect().await?;
        looked.into_iter().flatten().collect()
    } else {
        selected.map(Summary::from).collect()
    };
    Ok(Json(Page::new(items, page.broken, page.next, limit, &uri)))
}

/// A logical cloud and how far it is, if that can be told; none when it is gone meanwhile.
async fn with_progress(
    services: &Services,
    project: &ProjectName,
    cloud: service::Summary,
) -> Result<Option<Summary>, Error> {
    let Ok(name) = LogicalCloudName::new(&cloud.metadata.name) else { return Ok(Some(cloud.into())) };
    match services.clouds.life_cycle(project, &name).await {
        Ok(life) => Ok(Some(Summary::from(cloud).with_progress(life))),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) if error.is_retryable() => Err(error),
        // One that can't be read hides no other one. Whoever asks for its status is told why.
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, %project, cloud = %name, "how far a logical cloud is can't be told");
            Ok(Some(cloud.into()))
        }
    }
}
