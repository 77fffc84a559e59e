//! `GET /v2/projects/{project}/logical-clouds/{cloud}/users/{name}/revocation`: what became of it, cluster by cluster.

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use dcm_core::name::UserName;

use crate::documented::place::{Asked, At, Nothing, OfPart};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(OfPart { project, cloud, name }): At<OfPart<UserName>>,
    Asked(Nothing {}): Asked<Nothing>,
) -> Result<impl IntoResponse, Problem> {
    let (revoked, context) = services.clouds.revocation(&project, &cloud, &name).await?;
    let others = services.installation.other_bindings(&revoked).await;
    Ok(Json(revoked.report(others, |id| context.as_ref()?.lanes.get(id))))
}
