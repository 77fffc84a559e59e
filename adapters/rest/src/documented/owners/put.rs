//! `PUT`: an owner, made or changed. Its name need not be in the body.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use dcm_core::service::Revision;

use super::{Served, body, refused};
use crate::documented::body::Body;
use crate::documented::objects::NamedBody;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, Nothing};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::{If, etag};
use crate::request::Asking;

/// What the document says of it.
pub(super) fn describe<K: Served>(it: Operation) -> Operation {
    it.says(format!("Make or change {}", K::ONE), "")
        .answers(StatusCode::OK, Answer::json::<NamedBody>("It, as it is now.").tagged())
        .fails(&[Kind::NameMismatch])
}

pub(super) async fn handle<K: Served>(
    State(services): State<Shared>,
    At(place): At<K::Place>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    when: If<Revision>,
    Body { mut read, .. }: Body<NamedBody>,
) -> Result<impl IntoResponse, Problem> {
    let owner = place.into();
    Problem::of_names(&read.metadata.name, owner.as_ref())?;
    read.metadata.name = owner.to_string();
    let put = K::owners(&services).put_if(&caller, read.metadata, &when.condition).await;
    let (put, _) = put.map_err(|error| when.told(refused(error)))?;
    Ok(([etag(&put.revision)], Json(body(put))))
}
