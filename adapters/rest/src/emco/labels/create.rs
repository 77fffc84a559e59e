//! `POST …/clusters/{cluster}/labels`

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::service::{Error, Kind, Presence};

use crate::emco::answer::Answer;
use crate::emco::body::Body;
use crate::emco::names::Names;
use crate::emco::objects::Label;
use crate::emco::problem::Problem;
use crate::request::Asking;
use crate::route::Shared;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
    Asking(caller): Asking,
    Body(sent): Body<Label>,
) -> Result<Answer<Label>, Problem> {
    let id = names.cluster().map_err(|_| Problem::no_parent())?;
    let put = services.registered.put_label(&caller, &id, &sent.cluster_label, Presence::Absent).await;
    put.map_err(|error| match error {
        Error::NotFound { kind: Kind::Cluster, .. } => Problem::no_parent(),
        error => error.into(),
    })?;
    Ok(Answer(StatusCode::CREATED, sent))
}
