//! `DELETE /v2/projects/{project}/logical-clouds/{logicalCloud}`: one that is on no cluster and has no parts.

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::service::Precondition;

use super::rules::{self, Asked};
use crate::emco::names::Names;
use crate::emco::problem::Problem;
use crate::request::Asking;
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
    Asking(caller): Asking,
) -> Result<StatusCode, Problem> {
    let ((project, cloud), clouds) = (names.cloud()?, &services.clouds);
    rules::check(Asked::Delete, clouds.state(&project, &cloud).await?)?;
    let found = clouds.get(&project, &cloud).await?;
    let has = &found.cloud;
    let is_empty = has.references().is_empty()
        && has.permissions().is_empty()
        && has.quotas().is_empty()
        && has.key_values().is_empty();
    if !is_empty {
        return Err(Problem::has_children());
    }
    // Only as it was found: a part may be there by now.
    let as_found = Precondition { known: Some(vec![found.id()]), ..Precondition::default() };
    clouds.delete_if(&caller, &project, &cloud, &as_found).await?;
    Ok(StatusCode::NO_CONTENT)
}
