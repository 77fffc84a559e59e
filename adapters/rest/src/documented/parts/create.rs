//! `POST`: a part that is not there yet.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use dcm_core::service::Presence;

use super::find;
use crate::documented::body::Body;
use crate::documented::objects::{Object, Part};
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud, Nothing};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::{Unconditional, etag};
use crate::documented::warnings;
use crate::request::Asking;

/// What the document says of it.
pub(super) fn describe<P: Part>(it: Operation) -> Operation {
    let made = Answer::empty("It, as it was made.").with("application/json", P::made_as());
    it.says(format!("Add {}", P::ONE), "No cluster is touched before the next apply.")
        .requires(&["metadata.name"])
        .answers(P::CREATED, made.tagged().located().warned())
        .fails(&[Kind::AlreadyThere, Kind::WrongState, Kind::InUse])
}

pub(super) async fn handle<P: Part>(
    State(services): State<Shared>,
    At(InCloud { project, cloud }): At<InCloud>,
    Asked(Nothing {}): Asked<Nothing>,
    uri: Uri,
    Asking(caller): Asking,
    Unconditional: Unconditional,
    Body { sent, read }: Body<Object<P>>,
) -> Result<impl IntoResponse, Problem> {
    let name = read.metadata.name.clone();
    Problem::of_no_name(&name)?;
    let condition = Presence::Absent.into();
    let draft = P::into_draft(read)?;
    let made = services.clouds.put_part(&caller, &project, &cloud, draft, &condition).await;
    let made = made.map_err(|error| Problem::from(error).of_fields(|path| P::field(&sent, path)))?;
    let object = find::<P>(&made.cloud, &name)?;
    let location = format!("{}/{name}", uri.path());
    let headers = [etag(made.id()), (LOCATION, location.parse().map_err(|_| Problem::unexpected())?)];
    Ok((P::CREATED, headers, warnings::headers(&made.warnings), Json(P::made(object))))
}
