//! `POST /v2/projects/{project}/logical-clouds/{cloud}/users/{name}/revoke`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use dcm_core::name::UserName;

use crate::documented::place::{Asked, At, Nothing, OfPart};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::Unconditional;
use crate::request::Asking;

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(OfPart { project, cloud, name }): At<OfPart<UserName>>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    Unconditional: Unconditional,
) -> Result<impl IntoResponse, Problem> {
    let revoked = services.clouds.revoke(&caller, &project, &cloud, &name).await?;
    let location = format!("/v2/projects/{project}/logical-clouds/{cloud}/users/{name}/revocation");
    Ok((StatusCode::ACCEPTED, [(LOCATION, location)], Json(revoked)))
}
