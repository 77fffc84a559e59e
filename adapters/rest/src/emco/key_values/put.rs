//! `PUT …/clusters/{cluster}/kv-pairs/{clusterKv}`

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::service::Presence;

use super::put;
use crate::emco::answer::Answer;
use crate::emco::body::Body;
use crate::emco::names::Names;
use crate::emco::objects::KeyValues;
use crate::emco::problem::Problem;
use crate::request::Asking;
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
    Asking(caller): Asking,
    Body(sent): Body<KeyValues>,
) -> Result<Answer<KeyValues>, Problem> {
    if sent.metadata.name != names.text("clusterKv") {
        return Err(Problem::bad_request("Mismatched Key Value pair name in PUT request"));
    }
    Ok(Answer(StatusCode::CREATED, put(&services, &caller, &names, sent, Presence::Any).await?))
}
