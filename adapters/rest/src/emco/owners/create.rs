//! `POST`: an owner that is not there yet.

use axum::extract::State;
use axum::http::StatusCode;

use super::{Served, body};
use crate::emco::answer::Answer;
use crate::emco::body::Body;
use crate::emco::objects::Named;
use crate::emco::problem::Problem;
use crate::request::Asking;
use crate::route::Shared;

pub(super) async fn handle<K: Served>(
    State(services): State<Shared>,
    Asking(caller): Asking,
    Body(sent): Body<Named>,
) -> Result<Answer<Named>, Problem> {
    let made = K::owners(&services).create(&caller, sent.metadata.into()).await?;
    Ok(Answer(StatusCode::CREATED, body(made)))
}
