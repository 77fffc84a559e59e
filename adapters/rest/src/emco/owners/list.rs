//! `GET`: all owners of one kind.

use axum::extract::State;
use axum::http::StatusCode;

use super::{Served, body};
use crate::access::Asker;
use crate::emco::answer::Answer;
use crate::emco::objects::Named;
use crate::emco::pages;
use crate::emco::problem::Problem;
use crate::route::Shared;

pub(super) async fn handle<K: Served>(
    State(services): State<Shared>,
    asker: Asker,
) -> Result<Answer<Option<Vec<Named>>>, Problem> {
    let (owners, asker) = (K::owners(&services), &asker);
    let all = pages::all(|after: Option<K::Name>| async move {
        let page = match K::only(asker) {
            Some(names) => owners.list_of(&names, after.as_ref(), None).await?,
            None => owners.list(after.as_ref(), None).await?,
        };
        Ok((page.owners, page.broken, page.next))
    })
    .await?;
    let all: Vec<Named> = all.into_iter().map(body).collect();
    let told = if all.is_empty() && K::EMPTY_IS_NULL { None } else { Some(all) };
    Ok(Answer(StatusCode::OK, told))
}
