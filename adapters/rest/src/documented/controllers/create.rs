//! `POST`: a controller that is not recorded yet.

use axum::Json;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{StatusCode, Uri};
use axum::response::IntoResponse;
use dcm_core::service::Presence;

use super::Group;
use crate::documented::body::Body;
use crate::documented::objects::ControllerBody;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, Nothing};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::{Unconditional, etag};
use crate::request::Asking;

/// What the document says of it.
pub(super) fn describe<G: Group>(it: Operation) -> Operation {
    it.says(format!("Record {}", G::ONE), "Nobody is called yet.")
        .requires(&["metadata.name"])
        .answers(
            StatusCode::CREATED,
            Answer::json::<ControllerBody>("It, as it was made.").tagged().located(),
        )
        .fails(&[Kind::AlreadyThere])
}

pub(super) async fn handle<G: Group>(
    State(services): State<Shared>,
    Asked(Nothing {}): Asked<Nothing>,
    uri: Uri,
    Asking(caller): Asking,
    Unconditional: Unconditional,
    Body { read, .. }: Body<ControllerBody>,
) -> Result<impl IntoResponse, Problem> {
    Problem::of_no_name(&read.metadata.name)?;
    let absent = Presence::Absent.into();
    let (made, _) = services.controllers.put(&caller, G::GROUP, read.into(), &absent).await?;
    let location = format!("{}/{}", uri.path(), made.record.metadata.name);
    let headers = [etag(&made.revision), (LOCATION, location.parse().map_err(|_| Problem::unexpected())?)];
    Ok((StatusCode::CREATED, headers, Json(ControllerBody::from(made.record))))
}
