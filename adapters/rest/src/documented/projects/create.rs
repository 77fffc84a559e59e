//! `POST /v2/projects`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;

use super::{body, refused};
use crate::documented::body::Body;
use crate::documented::objects::ProjectBody;
use crate::documented::place::{Asked, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::{Unconditional, etag};
use crate::request::Asking;

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    Unconditional: Unconditional,
    Body { read, .. }: Body<ProjectBody>,
) -> Result<impl IntoResponse, Problem> {
    Problem::of_no_name(&read.metadata.name)?;
    let made = services.projects.create(&caller, read.metadata).await.map_err(refused)?;
    let location = format!("/v2/projects/{}", made.metadata.name);
    let headers = [etag(&made.revision), (LOCATION, location.parse().map_err(|_| Problem::unexpected())?)];
    Ok((StatusCode::CREATED, headers, Json(body(made))))
}
