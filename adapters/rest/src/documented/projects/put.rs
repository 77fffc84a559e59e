//! `PUT /v2/projects/{project}`

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use dcm_core::service::Revision;

use super::{body, refused};
use crate::documented::body::Body;
use crate::documented::objects::ProjectBody;
use crate::documented::place::{Asked, At, InProject, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::{If, etag};
use crate::request::Asking;

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InProject { project }): At<InProject>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    when: If<Revision>,
    Body { mut read, .. }: Body<ProjectBody>,
) -> Result<impl IntoResponse, Problem> {
    Problem::of_names(&read.metadata.name, project.as_str())?;
    read.metadata.name = project.to_string();
    let put = services.projects.put_if(&caller, read.metadata, &when.condition).await;
    let (put, _) = put.map_err(|error| when.told(refused(error)))?;
    Ok(([etag(&put.revision)], Json(body(put))))
}
