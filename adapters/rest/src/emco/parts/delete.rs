//! `DELETE`: a part.

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::service::Precondition;

use super::Part;
use crate::emco::names::Names;
use crate::emco::problem::Problem;
use crate::request::Asking;
use crate::route::Shared;

pub(super) async fn handle<P: Part>(
    State(services): State<Shared>,
    names: Names,
    Asking(caller): Asking,
) -> Result<StatusCode, Problem> {
    let absent = |_| Problem::absent();
    let (project, cloud) = names.cloud().map_err(absent)?;
    let name = P::part_name(names.one(P::SEGMENT, P::KIND).map_err(absent)?);
    let any = Precondition::default();
    let deleted = services.clouds.delete_part(&caller, &project, &cloud, &name, &any).await;
    deleted.map_err(Problem::of_deletion)?;
    Ok(StatusCode::NO_CONTENT)
}
