//! `POST /v2/projects/{project}/logical-clouds/{cloud}/users/{name}/revoke`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use dcm_core::name::UserName;
use dcm_core::service::Revoked;

use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, Nothing, OfPart};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::Unconditional;
use crate::request::Asking;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Revoke a user",
        "Every right of what was issued is taken away, and credentials of another identity are given: of a terminated logical cloud, with the next apply.",
    )
    .answers(StatusCode::ACCEPTED, Answer::json::<Revoked>("What is revoked.").located())
    .fails(&[Kind::WrongState])
}

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
