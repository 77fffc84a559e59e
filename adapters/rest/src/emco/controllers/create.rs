//! `POST`: a controller that is not recorded yet.

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::service::Presence;

use super::{Group, body, draft, refused};
use crate::emco::answer::Answer;
use crate::emco::body::Body;
use crate::emco::objects::Controller;
use crate::emco::problem::Problem;
use crate::request::Asking;
use crate::route::Shared;

pub(super) async fn handle<G: Group>(
    State(services): State<Shared>,
    Asking(caller): Asking,
    Body(sent): Body<Controller>,
) -> Result<Answer<Controller>, Problem> {
    let put = services.controllers.put(&caller, G::GROUP, draft::<G>(sent), &Presence::Absent.into()).await;
    let (made, _) = put.map_err(refused::<G>)?;
    Ok(Answer(StatusCode::CREATED, body::<G>(made)))
}
