//! `GET …/clusters/{cluster}/kv-pairs`

use axum::extract::State;
use axum::http::StatusCode;

use crate::emco::answer::Answer;
use crate::emco::names::Names;
use crate::emco::objects::KeyValues;
use crate::emco::problem::Problem;
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
) -> Result<Answer<Vec<KeyValues>>, Problem> {
    let found = services.registered.get(&names.cluster()?).await?.registration;
    Ok(Answer(StatusCode::OK, found.key_values.into_iter().map(KeyValues::from).collect()))
}
