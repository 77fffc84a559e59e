//! `POST /v2/projects/{project}/logical-clouds/{cloud}/terminate`

use axum::extract::State;
use axum::response::IntoResponse;

use super::accepted;
use super::removal::How;
use crate::documented::place::{Asked, At, InCloud};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::Unconditional;
use crate::request::Asking;

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(place): At<InCloud>,
    Asked(how): Asked<How>,
    Asking(caller): Asking,
    Unconditional: Unconditional,
) -> Result<impl IntoResponse, Problem> {
    services.clouds.terminate(&caller, &place.project, &place.cloud, how.removal()?).await?;
    accepted(&place)
}
