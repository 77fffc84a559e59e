//! `PUT`: a part, made or replaced. Its name need not be in the body.

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use dcm_core::service::EditId;

use super::find;
use crate::documented::body::Body;
use crate::documented::objects::{Object, Part};
use crate::documented::openapi::{Answer, Operation, Shape};
use crate::documented::place::{Asked, At, Nothing, OfPart};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::{If, etag};
use crate::documented::warnings;
use crate::request::Asking;

/// What the document says of it.
pub(super) fn describe<P: Part>(it: Operation) -> Operation {
    let put = Answer::empty("It, as it is now.").with("application/json", Shape::of::<Object<P>>());
    it.says(format!("Add or replace {}", P::ONE), "No cluster is touched before the next apply.")
        .answers(P::REPLACED, put.tagged().warned())
        .fails(&[Kind::NameMismatch, Kind::WrongState, Kind::InUse])
}

pub(super) async fn handle<P: Part>(
    State(services): State<Shared>,
    At(OfPart { project, cloud, name }): At<OfPart<P::Name>>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    when: If<EditId>,
    Body { sent, mut read }: Body<Object<P>>,
) -> Result<impl IntoResponse, Problem> {
    let name = name.as_ref();
    Problem::of_names(&read.metadata.name, name)?;
    name.clone_into(&mut read.metadata.name);
    let draft = P::into_draft(read)?;
    let put = services.clouds.put_part(&caller, &project, &cloud, draft, &when.condition).await;
    let put = put.map_err(|error| when.told(Problem::from(error)).of_fields(|path| P::field(&sent, path)))?;
    let object: Object<P> = find(&put.cloud, name)?;
    Ok((P::REPLACED, [etag(put.id())], warnings::headers(&put.warnings), Json(object)))
}
