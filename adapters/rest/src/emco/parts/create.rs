//! `POST`: a part that is not there yet.

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::logical_cloud::Level;
use dcm_core::service::{Error, Presence};

use super::{Part, find_named};
use crate::emco::answer::Answer;
use crate::emco::body::Body;
use crate::emco::names::Names;
use crate::emco::problem::Problem;
use crate::request::Asking;
use crate::route::Shared;

pub(super) async fn handle<P: Part>(
    State(services): State<Shared>,
    names: Names,
    Asking(caller): Asking,
    Body(sent): Body<P>,
) -> Result<Answer<P>, Problem> {
    let name = sent.metadata().name.clone();
    if name.is_empty() {
        return Err(Problem::bad_request("Missing name in POST request"));
    }
    let clouds = &services.clouds;
    let (project, cloud) = names.cloud().map_err(|_| P::no_cloud())?;
    if P::NEEDS_NAMESPACE && clouds.get(&project, &cloud).await?.cloud.level() == Level::Admin {
        return Err(Problem::bad_request("Cluster Quotas not allowed for Logical Cloud Level 0"));
    }
    let condition = Presence::Absent.into();
    let put = clouds.put_part_of_one_level(&caller, &project, &cloud, sent.into_draft(), &condition).await;
    let made = put.map_err(|error| match error {
        Error::NotFound { .. } => P::no_cloud(),
        error => Problem::about(error, P::field),
    })?;
    Ok(Answer(StatusCode::CREATED, find_named(&made.cloud, &name)?))
}
