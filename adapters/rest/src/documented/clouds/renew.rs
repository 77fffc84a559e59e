//! `POST /v2/projects/{project}/logical-clouds/{cloud}/renew`: newer credentials, for one user or for all whose are due.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use dcm_core::name::UserName;
use dcm_core::service::Renewed;
use schemars::JsonSchema;
use serde::Deserialize;

use super::accepted;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::Unconditional;
use crate::request::Asking;

/// Whose.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::documented) struct Whose {
    /// This user alone, due or not.
    user: Option<UserName>,
}

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Renew credentials",
        "Those that are due, or with `user` those of one user, due or not. The earlier are good until they end.",
    )
    .answers(StatusCode::ACCEPTED, Answer::json::<Renewed>("Who gets newer ones.").located())
    .fails(&[Kind::WrongState])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(place): At<InCloud>,
    Asked(Whose { user }): Asked<Whose>,
    Asking(caller): Asking,
    Unconditional: Unconditional,
) -> Result<impl IntoResponse, Problem> {
    let renewed = services.clouds.renew(&caller, &place.project, &place.cloud, user.as_ref()).await?;
    let (status, location) = accepted(&place)?;
    Ok((status, location, Json(renewed)))
}
