//! `GET`: all controllers of a group.

use axum::extract::State;
use axum::http::StatusCode;

use super::{Group, body};
use crate::emco::answer::{Answer, or_null};
use crate::emco::objects::Controller;
use crate::emco::pages;
use crate::emco::problem::Problem;
use crate::route::Shared;

pub(super) async fn handle<G: Group>(
    State(services): State<Shared>,
) -> Result<Answer<Option<Vec<Controller>>>, Problem> {
    let controllers = &services.controllers;
    let all = pages::all(|after| async move {
        let page = controllers.list(G::GROUP, after.as_ref(), None).await?;
        Ok((page.controllers, page.broken, page.next))
    })
    .await?;
    Ok(Answer(StatusCode::OK, or_null(all.into_iter().map(body::<G>).collect())))
}
