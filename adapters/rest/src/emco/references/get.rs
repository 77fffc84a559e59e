//! `GET …/cluster-references/{clusterReference}`

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::service::Kind;

use super::certificates;
use crate::emco::answer::Answer;
use crate::emco::names::Names;
use crate::emco::objects::ClusterReference;
use crate::emco::problem::Problem;
use crate::named;
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
) -> Result<Answer<ClusterReference>, Problem> {
    let (project, cloud) = names.cloud()?;
    let found = services.clouds.get(&project, &cloud).await?;
    let name = names.text("clusterReference");
    let reference = named::find(found.cloud.references(), name);
    let reference = reference.ok_or_else(|| Problem::missing(Kind::Reference))?;
    let name = &reference.metadata.name;
    let certificate = certificates(&services.clouds, &found.cloud, Some(name)).await?.remove(name);
    Ok(Answer(StatusCode::OK, ClusterReference::of(reference, certificate.unwrap_or_default())))
}
