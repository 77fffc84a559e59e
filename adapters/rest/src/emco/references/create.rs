//! `POST …/logical-clouds/{logicalCloud}/cluster-references`

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::service::Presence;

use crate::emco::answer::Answer;
use crate::emco::body::{Sent, checked};
use crate::emco::clouds::rules::{self, Asked};
use crate::emco::names::Names;
use crate::emco::objects::ClusterReference;
use crate::emco::problem::Problem;
use crate::named;
use crate::request::Asking;
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
    Asking(caller): Asking,
    Sent(bytes): Sent,
) -> Result<Answer<ClusterReference>, Problem> {
    let ((project, cloud), clouds) = (names.cloud()?, &services.clouds);
    let state = clouds.state(&project, &cloud).await?;
    let sent: ClusterReference = checked(&bytes)?;
    rules::check(Asked::AddReference, state)?;
    let (name, condition) = (sent.metadata.name.clone(), Presence::Absent.into());
    let made = clouds.put_part(&caller, &project, &cloud, sent.into_draft(), &condition).await;
    let made = made.map_err(|error| Problem::about(error, ClusterReference::field))?;
    let made = named::find(made.cloud.references(), &name).ok_or_else(Problem::internal)?;
    Ok(Answer(StatusCode::CREATED, ClusterReference::of(made, String::new())))
}
