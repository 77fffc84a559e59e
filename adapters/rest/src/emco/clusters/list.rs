//! `GET /v2/cluster-providers/{clusterProvider}/clusters`: all clusters, as documents; with their labels; or the names of those
//! that have one.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use dcm_core::service::{RegisteredCluster, Registration};
use serde::Deserialize;

use crate::emco::answer::Answer;
use crate::emco::names::Names;
use crate::emco::objects::{Cluster, ClusterWithLabels};
use crate::emco::pages;
use crate::emco::problem::Problem;
use crate::route::Shared;

/// What is told of the clusters, and of which. What can't be read asks for nothing.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::emco) struct Asked {
    with_labels: String,
    label: String,
}

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Response, Problem> {
    let (registered, provider) = (&services.registered, &names.provider()?);
    let all = pages::all(|after| async move {
        let page = registered.list_of(provider, after.as_ref(), None).await?;
        Ok((page.clusters, page.broken, page.next.map(|next| next.cluster)))
    })
    .await?;
    let all = all.into_iter().map(|RegisteredCluster { registration, .. }| registration);
    let Query(Asked { with_labels, label }) = asked.unwrap_or_default();
    Ok(if with_labels.eq_ignore_ascii_case("true") {
        let all: Vec<ClusterWithLabels> = all.map(ClusterWithLabels::from).collect();
        Answer(StatusCode::OK, all).into_response()
    } else if !label.is_empty() {
        let has_it = |one: &Registration| one.labels.contains_key(&label);
        let all: Vec<String> = all.filter(has_it).map(|one| one.id.cluster.to_string()).collect();
        Answer(StatusCode::OK, all).into_response()
    } else {
        let all: Vec<Cluster> = all.map(Cluster::from).collect();
        Answer(StatusCode::OK, all).into_response()
    })
}
