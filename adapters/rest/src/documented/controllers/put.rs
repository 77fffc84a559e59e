//! `PUT`: a controller, recorded or changed as a whole. Its name need not be in the body.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use dcm_core::service::Revision;

use super::{Group, One};
use crate::documented::body::Body;
use crate::documented::objects::ControllerBody;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, Nothing};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::{If, etag};
use crate::request::Asking;

/// What the document says of it.
pub(super) fn describe<G: Group>(it: Operation) -> Operation {
    it.says(format!("Record or change {}", G::ONE), "As a whole. Nobody is called yet.")
        .answers(StatusCode::OK, Answer::json::<ControllerBody>("It, as it is now.").tagged())
        .fails(&[Kind::NameMismatch])
}

pub(super) async fn handle<G: Group>(
    State(services): State<Shared>,
    At(One { controller }): At<One>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    when: If<Revision>,
    Body { mut read, .. }: Body<ControllerBody>,
) -> Result<impl IntoResponse, Problem> {
    Problem::of_names(&read.metadata.name, controller.as_ref())?;
    read.metadata.name = controller.to_string();
    let put = services.controllers.put(&caller, G::GROUP, read.into(), &when.condition).await;
    let (put, _) = put.map_err(|error| when.told(error.into()))?;
    Ok(([etag(&put.revision)], Json(ControllerBody::from(put.record))))
}
