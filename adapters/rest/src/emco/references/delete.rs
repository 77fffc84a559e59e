//! `DELETE …/cluster-references/{clusterReference}`

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::service::{Kind, PartName, Precondition};

use crate::emco::clouds::rules::{self, Asked};
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
    rules::check(Asked::RemoveReference, clouds.state(&project, &cloud).await?)?;
    let name = names.one("clusterReference", Kind::Reference).map_err(|_| Problem::absent())?;
    let (name, any) = (PartName::Reference(name), Precondition::default());
    clouds.delete_part(&caller, &project, &cloud, &name, &any).await.map_err(Problem::of_deletion)?;
    Ok(StatusCode::NO_CONTENT)
}
