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
use crate::named::{self, Named as _};

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
    let after = wanted.after.as_ref().map(AsRef::as_ref);
    let (page, is_more) = named::page(P::all(&found.cloud), after, limit);
    let last = page.last().filter(|_| is_more).map(|part| part.name().to_owned());
    let objects = page.iter().map(P::object).collect();
    Ok(([etag(found.id())], Json(Page::new(objects, Vec::new(), last, limit, &uri))))
}
