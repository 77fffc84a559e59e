//! `DELETE /v2/projects/{project}`

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::service::Revision;

use crate::documented::place::{Asked, At, InProject, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::If;
use crate::request::Asking;

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InProject { project }): At<InProject>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    when: If<Revision>,
) -> Result<StatusCode, Problem> {
    let deleted = services.projects.delete_if(&caller, &project, &when.condition).await;
    deleted.map_err(|error| when.told(error.into()))?;
    Ok(StatusCode::NO_CONTENT)
}
