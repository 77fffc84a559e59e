//! `GET`: the parts of one kind, in the order of their names.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::IntoResponse;

use crate::documented::objects::Object;
use crate::documented::objects::Part;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::page::{Page, Wanted};
use crate::documented::place::{Asked, At, InCloud};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::etag;

/// What the document says of it.
pub(super) fn describe<P: Part>(it: Operation) -> Operation {
    it.says(format!("List {}", P::MANY), "")
        .answers(StatusCode::OK, Answer::json::<Page<Object<P>>>("A page, in the order of names.").tagged())
}

pub(super) async fn handle<P: Part>(
    State(services): State<Shared>,
    At(InCloud { project, cloud }): At<InCloud>,
    Asked(wanted): Asked<Wanted<P::Name>>,
    uri: Uri,
) -> Result<impl IntoResponse, Problem> {
    let limit = wanted.limit()?;
    let found = services.clouds.get(&project, &cloud).await?;
    let mut objects = P::objects(&found.cloud);
    objects.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
    if let Some(after) = &wanted.after {
        objects.retain(|object| &*object.metadata.name > after.as_ref());
    }
    let is_more = objects.len() > limit;
    objects.truncate(limit);
    let last = objects.last().filter(|_| is_more).map(|object| object.metadata.name.clone());
    Ok(([etag(found.id())], Json(Page::new(objects, Vec::new(), last, limit, &uri))))
}
