//! `GET`: one part.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;

use super::find;
use crate::documented::objects::Object;
use crate::documented::objects::Part;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, Nothing, OfPart};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::etag;

/// What the document says of it.
pub(super) fn describe<P: Part>(it: Operation) -> Operation {
    it.says(format!("Read {}", P::ONE), "")
        .answers(StatusCode::OK, Answer::json::<Object<P>>("It, as it is.").tagged())
}

pub(super) async fn handle<P: Part>(
    State(services): State<Shared>,
    At(OfPart { project, cloud, name }): At<OfPart<P::Name>>,
    Asked(Nothing {}): Asked<Nothing>,
) -> Result<impl IntoResponse, Problem> {
    let found = services.clouds.get(&project, &cloud).await?;
    let object = find::<P>(&found.cloud, name.as_ref())?;
    Ok(([etag(found.id())], Json(object)))
}
