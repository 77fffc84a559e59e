//! `POST /v2/projects/{project}/logical-clouds`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use dcm_core::name::LogicalCloudName;
use dcm_core::refusal::Rule as _;
use dcm_core::service::Presence;

use crate::documented::body::Body;
use crate::documented::objects::LogicalCloudBody;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InProject, Nothing};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::{Unconditional, etag};
use crate::documented::warnings;
use crate::request::Asking;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says("Make a logical cloud", "No cluster is touched.")
        .requires(&["metadata.name"])
        .answers(
            StatusCode::CREATED,
            Answer::json::<LogicalCloudBody>("The logical cloud.").tagged().located().warned(),
        )
        .fails(&[Kind::NotFound, Kind::AlreadyThere])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InProject { project }): At<InProject>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    Unconditional: Unconditional,
    Body { read, .. }: Body<LogicalCloudBody>,
) -> Result<impl IntoResponse, Problem> {
    Problem::of_no_name(read.name())?;
    let cloud = LogicalCloudName::new(read.name())
        .map_err(|invalid| Problem::field("metadata.name", invalid.rule()))?;
    let condition = Presence::Absent.into();
    let next = |current: Option<&_>| read.clone().onto(&cloud, current);
    let made = services.clouds.edit(&caller, &project, &cloud, &condition, next).await;
    let made = made.map_err(|error| Problem::from(error).of_fields(|path| read.fields().of(path)))?;
    let location = format!("/v2/projects/{project}/logical-clouds/{cloud}");
    let headers = [etag(made.id()), (LOCATION, location.parse().map_err(|_| Problem::unexpected())?)];
    let body = LogicalCloudBody::of(&made.cloud);
    Ok((StatusCode::CREATED, headers, warnings::headers(&made.warnings), Json(body)))
}
