//! `POST /v2/cluster-providers/{provider}/clusters/{cluster}/stop`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;

use super::OneCluster;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::documented::stopping::{self, STOPPED, Waiting};
use crate::documented::tag::Unconditional;
use crate::request::Asking;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says("Pause all work on a cluster", "Nothing new begins there until it is resumed.")
        .answers(StatusCode::ACCEPTED, Answer::empty(STOPPED).put_off())
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(cluster): At<OneCluster>,
    Asked(waiting): Asked<Waiting>,
    Asking(caller): Asking,
    Unconditional: Unconditional,
) -> Result<impl IntoResponse, Problem> {
    let stopped = services.registered.stop(&caller, &cluster.id(), waiting.limit()?).await;
    Ok((StatusCode::ACCEPTED, stopping::headers(stopped)?))
}
