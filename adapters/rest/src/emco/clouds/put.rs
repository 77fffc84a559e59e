//! `PUT /v2/projects/{project}/logical-clouds/{logicalCloud}`: changes a logical cloud that is there.

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::service::Presence;

use crate::emco::answer::Answer;
use crate::emco::body::{Sent, checked};
use crate::emco::names::Names;
use crate::emco::objects::LogicalCloud;
use crate::emco::problem::Problem;
use crate::request::Asking;
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
    Asking(caller): Asking,
    Sent(bytes): Sent,
) -> Result<Answer<LogicalCloud>, Problem> {
    let ((project, cloud), clouds) = (names.cloud()?, &services.clouds);
    clouds.state(&project, &cloud).await?;
    let sent: LogicalCloud = checked(&bytes)?;
    if sent.metadata.name != cloud.as_str() {
        return Err(Problem::conflict("Logical Cloud name mismatch"));
    }
    let next = |current: Option<&_>| Ok(sent.clone().onto(current));
    let put = clouds.edit(&caller, &project, &cloud, &Presence::Present.into(), next).await;
    let put = put.map_err(|error| Problem::about(error, LogicalCloud::field))?;
    Ok(Answer(StatusCode::CREATED, (&put.cloud).into()))
}
