//! `POST /v2/projects/{project}/logical-clouds/{cloud}/renew`: newer credentials, for one user or for all whose are due.

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use dcm_core::name::UserName;
use serde::Deserialize;

use super::accepted;
use crate::documented::place::{Asked, At, InCloud};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::Unconditional;
use crate::request::Asking;

/// Whose.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::documented) struct Whose {
    /// This user alone, due or not.
    user: Option<UserName>,
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
