//! `POST /v2/projects/{project}/logical-clouds`

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::name::LogicalCloudName;
use dcm_core::service::Presence;

use crate::emco::answer::Answer;
use crate::emco::body::{Sent, checked, is_empty};
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
    if is_empty(&bytes) {
        return Err(Problem::bad_request("EOF"));
    }
    let sent: LogicalCloud = checked(&bytes)?;
    let project = names.project()?;
    // The schema has the rule of names.
    let name = LogicalCloudName::new(&sent.metadata.name).map_err(|_| Problem::internal())?;
    let draft = sent.onto(None);
    let condition = Presence::Absent.into();
    let made = services.clouds.edit(&caller, &project, &name, &condition, |_| Ok(draft.clone())).await;
    let made = made.map_err(|error| Problem::about(error, LogicalCloud::field))?;
    Ok(Answer(StatusCode::CREATED, (&made.cloud).into()))
}
