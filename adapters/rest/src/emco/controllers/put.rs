//! `PUT`: a controller, recorded or changed.

use axum::extract::State;
use dcm_core::service::Precondition;

use super::{Group, body, draft, refused};
use crate::emco::answer::Answer;
use crate::emco::body::{Sent, read};
use crate::emco::names::Names;
use crate::emco::objects::Controller;
use crate::emco::problem::Problem;
use crate::request::Asking;
use crate::route::Shared;

pub(super) async fn handle<G: Group>(
    State(services): State<Shared>,
    names: Names,
    Asking(caller): Asking,
    Sent(bytes): Sent,
) -> Result<Answer<Controller>, Problem> {
    let sent: Controller = read(&bytes)?;
    if sent.metadata.name.is_empty() {
        return Err(Problem::bad_request("Missing name in PUT request"));
    }
    if sent.metadata.name != names.text(G::SEGMENT) {
        return Err(Problem::bad_request("Mismatched name in PUT request"));
    }
    let put = services.controllers.put(&caller, G::GROUP, draft::<G>(sent), &Precondition::default()).await;
    let (put, _) = put.map_err(refused::<G>)?;
    Ok(Answer(G::PUT_STATUS, body::<G>(put)))
}
