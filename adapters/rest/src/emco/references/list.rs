//! `GET …/logical-clouds/{logicalCloud}/cluster-references`

use axum::extract::State;
use axum::http::StatusCode;

use super::all;
use crate::emco::answer::Answer;
use crate::emco::clouds::no_references;
use crate::emco::names::Names;
use crate::emco::objects::ClusterReference;
use crate::emco::problem::Problem;
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
) -> Result<Answer<Vec<ClusterReference>>, Problem> {
    let (project, cloud) = names.cloud()?;
    let found = services.clouds.get(&project, &cloud).await?;
    let all = all(&services.clouds, &found.cloud).await?;
    if all.is_empty() { Err(no_references()) } else { Ok(Answer(StatusCode::OK, all)) }
}
