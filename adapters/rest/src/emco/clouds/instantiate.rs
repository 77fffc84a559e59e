//! `POST /v2/projects/{project}/logical-clouds/{logicalCloud}/instantiate`

use axum::extract::State;
use axum::http::StatusCode;

use super::rules::{self, Asked};
use super::{as_looked_at, must_be_whole, must_have_clusters, of_apply};
use crate::emco::names::Names;
use crate::emco::problem::Problem;
use crate::request::Asking;
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
    Asking(caller): Asking,
) -> Result<StatusCode, Problem> {
    let ((project, cloud), clouds) = (names.cloud()?, &services.clouds);
    let found = clouds.get(&project, &cloud).await?;
    must_have_clusters(&found.cloud)?;
    rules::check(Asked::Instantiate, clouds.state(&project, &cloud).await?)?;
    must_be_whole(&found.cloud)?;
    clouds.apply_if(&caller, &project, &cloud, &as_looked_at(&found)).await.map_err(of_apply)?;
    Ok(StatusCode::ACCEPTED)
}
