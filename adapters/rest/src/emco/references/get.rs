//! `GET …/cluster-references/{clusterReference}`

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::service::Kind;

use super::all;
use crate::emco::answer::Answer;
use crate::emco::names::Names;
use crate::emco::objects::ClusterReference;
use crate::emco::problem::Problem;
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
) -> Result<Answer<ClusterReference>, Problem> {
    let (project, cloud) = names.cloud()?;
    let found = services.clouds.get(&project, &cloud).await?;
    let name = names.text("clusterReference");
    let mut all = all(&services.clouds, &found.cloud).await?.into_iter();
    let found = all.find(|reference| reference.metadata.name == name);
    Ok(Answer(StatusCode::OK, found.ok_or_else(|| Problem::missing(Kind::Reference))?))
}
