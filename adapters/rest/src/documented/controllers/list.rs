//! `GET`: the controllers of a group, in the order of their names.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::IntoResponse;
use dcm_core::name::ControllerName;

use super::Group;
use crate::documented::objects::ControllerBody;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::page::{Page, Wanted};
use crate::documented::place::Asked;
use crate::documented::problem::Problem;
use crate::documented::route::Shared;

/// What the document says of it.
pub(super) fn describe<G: Group>(it: Operation) -> Operation {
    it.says(format!("List {}", G::MANY), "")
        .answers(StatusCode::OK, Answer::json::<Page<ControllerBody>>("A page, in the order of names."))
}

pub(super) async fn handle<G: Group>(
    State(services): State<Shared>,
    Asked(wanted): Asked<Wanted<ControllerName>>,
    uri: Uri,
) -> Result<impl IntoResponse, Problem> {
    let limit = wanted.limit()?;
    let page = services.controllers.list(G::GROUP, wanted.after.as_ref(), Some(limit)).await?;
    let items = page.controllers.into_iter().map(|one| ControllerBody::from(one.record)).collect();
    Ok(Json(Page::new(items, page.broken, page.next, limit, &uri)))
}
