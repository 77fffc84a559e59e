//! `GET`: one controller.

use axum::extract::State;
use axum::http::StatusCode;

use super::{Group, body, name, refused};
use crate::emco::answer::Answer;
use crate::emco::names::Names;
use crate::emco::objects::Controller;
use crate::emco::problem::Problem;
use crate::route::Shared;

pub(super) async fn handle<G: Group>(
    State(services): State<Shared>,
    names: Names,
) -> Result<Answer<Controller>, Problem> {
    let found = services.controllers.get(G::GROUP, &name::<G>(&names)?).await.map_err(refused::<G>)?;
    Ok(Answer(StatusCode::OK, body::<G>(found)))
}
