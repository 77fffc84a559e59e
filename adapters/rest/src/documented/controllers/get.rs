//! `GET`: one controller.

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;

use super::{Group, One};
use crate::documented::objects::ControllerBody;
use crate::documented::place::{Asked, At, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::tag::etag;

pub(super) async fn handle<G: Group>(
    State(services): State<Shared>,
    At(One { controller }): At<One>,
    Asked(Nothing {}): Asked<Nothing>,
) -> Result<impl IntoResponse, Problem> {
    let found = services.controllers.get(G::GROUP, &controller).await?;
    Ok(([etag(&found.revision)], Json(ControllerBody::from(found.record))))
}
