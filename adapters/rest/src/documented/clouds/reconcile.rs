//! `POST /v2/projects/{project}/logical-clouds/{cloud}/reconcile`

use axum::extract::State;
use axum::response::IntoResponse;

use super::accepted;
use crate::documented::place::{Asked, At, InCloud, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::Unconditional;
use crate::request::Asking;

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(place): At<InCloud>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    Unconditional: Unconditional,
) -> Result<impl IntoResponse, Problem> {
    services.clouds.reconcile(&caller, &place.project, &place.cloud).await?;
    accepted(&place)
}
