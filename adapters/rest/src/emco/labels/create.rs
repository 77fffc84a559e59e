//! `POST …/clusters/{cluster}/labels`

use axum::extract::State;
use dcm_core::service::Presence;

use super::give;
use crate::emco::answer::Answer;
use crate::emco::body::Body;
use crate::emco::names::Names;
use crate::emco::objects::Label;
use crate::emco::problem::Problem;
use crate::request::Asking;
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
    Asking(caller): Asking,
    Body(sent): Body<Label>,
) -> Result<Answer<Label>, Problem> {
    give(&services, &caller, &names, sent, Presence::Absent).await
}
