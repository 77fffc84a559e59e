//! `GET /v2/projects/{project}/logical-clouds/{logicalCloud}`

use axum::extract::State;
use axum::http::StatusCode;

use crate::emco::answer::Answer;
use crate::emco::names::Names;
use crate::emco::objects::LogicalCloud;
use crate::emco::problem::Problem;
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
) -> Result<Answer<LogicalCloud>, Problem> {
    let (project, cloud) = names.cloud()?;
    let found = services.clouds.get(&project, &cloud).await?;
    Ok(Answer(StatusCode::OK, (&found.cloud).into()))
}
