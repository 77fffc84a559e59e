//! Labels of clusters. What selectors of clusters see is the same.

pub(super) mod create;
pub(super) mod delete;
pub(super) mod get;
pub(super) mod list;
pub(super) mod put;

use axum::http::StatusCode;
use dcm_core::service::{Caller, Error, Kind, Presence};

use super::answer::Answer;
use super::names::Names;
use super::objects::Label;
use super::problem::Problem;
use crate::services::Services;

/// Gives a cluster a label.
async fn give(
    services: &Services,
    caller: &Caller,
    names: &Names,
    label: Label,
    presence: Presence,
) -> Result<Answer<Label>, Problem> {
    let id = names.cluster().map_err(|_| Problem::no_parent())?;
    let put = services.registered.put_label(caller, &id, &label.cluster_label, presence).await;
    put.map_err(|error| match error {
        Error::NotFound { kind: Kind::Cluster, .. } => Problem::no_parent(),
        error => error.into(),
    })?;
    Ok(Answer(StatusCode::CREATED, label))
}
