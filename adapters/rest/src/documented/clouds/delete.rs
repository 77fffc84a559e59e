//! `DELETE /v2/projects/{project}/logical-clouds/{cloud}`

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::service::EditId;

use crate::documented::place::{Asked, At, InCloud, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::If;
use crate::request::Asking;

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InCloud { project, cloud }): At<InCloud>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    when: If<EditId>,
) -> Result<StatusCode, Problem> {
    let deleted = services.clouds.delete_if(&caller, &project, &cloud, &when.condition).await;
    deleted.map_err(|error| when.told(error.into()))?;
    Ok(StatusCode::NO_CONTENT)
}
