//! `GET`: one owner.

use axum::extract::State;
use axum::http::StatusCode;

use super::{Served, body};
use crate::emco::answer::Answer;
use crate::emco::names::Names;
use crate::emco::objects::Named;
use crate::emco::problem::Problem;
use crate::route::Shared;

pub(super) async fn handle<K: Served>(
    State(services): State<Shared>,
    names: Names,
) -> Result<Answer<Named>, Problem> {
    let found = K::owners(&services).get(&K::named(&names)?).await?;
    Ok(Answer(StatusCode::OK, body(found)))
}
