//! `POST /v2/projects/{project}/logical-clouds/{logicalCloud}/update`: brings what was changed to the clusters.

use axum::extract::State;
use axum::http::StatusCode;

use super::rules::{self, Asked};
use super::{as_looked_at, must_be_whole, of_apply};
use crate::emco::answer::Answer;
use crate::emco::names::Names;
use crate::emco::objects::LogicalCloud;
use crate::emco::problem::Problem;
use crate::request::Asking;
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
    Asking(caller): Asking,
) -> Result<Answer<LogicalCloud>, Problem> {
    let ((project, cloud), clouds) = (names.cloud()?, &services.clouds);
    let found = clouds.get(&project, &cloud).await?;
    rules::check(Asked::Update, clouds.state(&project, &cloud).await?)?;
    must_be_whole(&found.cloud)?;
    let applied = clouds.apply_if(&caller, &project, &cloud, &as_looked_at(&found)).await;
    let applied = applied.map_err(of_apply)?;
    Ok(Answer(StatusCode::ACCEPTED, (&applied.cloud).into()))
}
