//! `GET …/clusters/{cluster}/kv-pairs/{clusterKv}`: a set, or the value of one of its keys.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::find;
use crate::emco::answer::Answer;
use crate::emco::names::Names;
use crate::emco::problem::Problem;
use crate::route::Shared;

/// Which key; empty for the whole set. What can't be read asks for nothing.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::emco) struct Asked {
    key: String,
}

#[derive(Serialize)]
struct Found {
    value: Box<RawValue>,
}

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Response, Problem> {
    let values = find(&services, &names).await?;
    let Query(Asked { key }) = asked.unwrap_or_default();
    if key.is_empty() {
        return Ok(Answer(StatusCode::OK, values).into_response());
    }
    match values.spec.kv.and_then(|pairs| pairs.get(&key)) {
        Some(value) => Ok(Answer(StatusCode::OK, Found { value }).into_response()),
        None => Err(Problem::new(StatusCode::NOT_FOUND, "Cluster KV pair key value not found")),
    }
}
