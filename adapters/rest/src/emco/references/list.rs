//! `GET …/logical-clouds/{logicalCloud}/cluster-references`

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::logical_cloud;

use super::certificates;
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
    if found.cloud.references().is_empty() {
        return Err(no_references());
    }
    let mut certificates = certificates(&services.clouds, &found.cloud, None).await?;
    let with_certificate = |reference: &logical_cloud::ClusterReference| {
        let certificate = certificates.remove(&reference.metadata.name).unwrap_or_default();
        ClusterReference::of(reference, certificate)
    };
    Ok(Answer(StatusCode::OK, found.cloud.references().iter().map(with_certificate).collect()))
}
