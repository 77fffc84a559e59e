//! `GET`: owners of one kind, in the order of their names.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::IntoResponse;

use super::{Served, body};
use crate::access::Asker;
use crate::documented::objects::NamedBody;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::page::{Page, Wanted};
use crate::documented::place::Asked;
use crate::documented::problem::Problem;
use crate::documented::route::Shared;

/// What the document says of it.
pub(super) fn describe<K: Served>(it: Operation) -> Operation {
    it.says(format!("List {}", K::MANY), "")
        .answers(StatusCode::OK, Answer::json::<Page<NamedBody>>("A page, in the order of names."))
}

pub(super) async fn handle<K: Served>(
    State(services): State<Shared>,
    Asked(wanted): Asked<Wanted<K::Name>>,
    uri: Uri,
    asker: Asker,
) -> Result<impl IntoResponse, Problem> {
    let limit = wanted.limit()?;
    let owners = K::owners(&services);
    let page = match K::only(&asker) {
        Some(names) => owners.list_of(&names, wanted.after.as_ref(), Some(limit)).await?,
        None => owners.list(wanted.after.as_ref(), Some(limit)).await?,
    };
    let items = page.owners.into_iter().map(body).collect();
    Ok(Json(Page::new(items, page.broken, page.next, limit, &uri)))
}
