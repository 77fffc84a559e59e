//! `GET /metrics`: the figures of the server that is asked.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

use super::openapi::{Answer, Operation, Shape};
use super::place::{Asked, Nothing};
use super::problem::{Kind, Problem};
use crate::metrics::METRICS_TYPE;
use crate::route::Shared;

/// What the document says of it.
pub(super) fn describe(it: Operation) -> Operation {
    it.says(
        "Read metrics",
        "The figures of the server that is asked, as Prometheus reads them (OpenMetrics). No project, logical cloud, object and user is \
         named; clusters are.",
    )
    .answers(StatusCode::OK, Answer::empty("All of them.").with("application/openmetrics-text", Shape::Text))
}

pub(super) async fn handle(
    State(services): State<Shared>,
    Asked(Nothing {}): Asked<Nothing>,
) -> Result<impl IntoResponse, Problem> {
    let told = services.metrics.told().await;
    let told = told
        .ok_or_else(|| Problem::new(Kind::Unavailable, "there are none; the log of the server says why"))?;
    Ok(([(CONTENT_TYPE, METRICS_TYPE)], told))
}
