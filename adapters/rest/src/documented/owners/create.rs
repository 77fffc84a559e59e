//! `POST`: an owner that is not there yet.

use axum::Json;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{StatusCode, Uri};
use axum::response::IntoResponse;

use super::{Served, body, refused};
use crate::documented::body::Body;
use crate::documented::objects::NamedBody;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, Nothing};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::{Unconditional, etag};
use crate::request::Asking;

/// What the document says of it.
pub(super) fn describe<K: Served>(it: Operation) -> Operation {
    it.says(format!("Make {}", K::ONE), "")
        .requires(&["metadata.name"])
        .answers(StatusCode::CREATED, Answer::json::<NamedBody>("It, as it was made.").tagged().located())
        .fails(&[Kind::AlreadyThere])
}

pub(super) async fn handle<K: Served>(
    State(services): State<Shared>,
    Asked(Nothing {}): Asked<Nothing>,
    uri: Uri,
    Asking(caller): Asking,
    Unconditional: Unconditional,
    Body { read, .. }: Body<NamedBody>,
) -> Result<impl IntoResponse, Problem> {
    Problem::of_no_name(&read.metadata.name)?;
    let made = K::owners(&services).create(&caller, read.metadata).await.map_err(refused)?;
    let location = format!("{}/{}", uri.path(), made.metadata.name);
    let headers = [etag(&made.revision), (LOCATION, location.parse().map_err(|_| Problem::unexpected())?)];
    Ok((StatusCode::CREATED, headers, Json(body(made))))
}
