//! `GET /v2/projects/{project}/logical-clouds/{logicalCloud}/status`

mod asked;
mod history;
mod resources;

use std::collections::BTreeMap;

use axum::extract::Query;
use axum::extract::State as Given;
use axum::extract::rejection::QueryRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use dcm_core::logical_cloud::life_cycle::State;
use dcm_core::name::{ClusterId, ClusterName, ClusterProviderName, LogicalCloudName, ProjectName};
use dcm_core::service::{CloudStatus, Error};
use dcm_core::status::{LaneStatus, Reason};
use serde::Serialize;

use super::rules::deployed_status;
use crate::access::Asker;
use crate::emco::answer::Answer;
use crate::emco::names::Names;
use crate::emco::problem::Problem;
use crate::route::Shared;
use asked::{Asked, Form, Listing, Output};
use history::States;
use resources::{Gvk, Readiness, Resource};

/// The one app of the app context of a logical cloud.
const APP: &str = "logical-cloud";

/// How far a logical cloud is. Before it was instantiated there is nothing but its name and its states.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    project: ProjectName,
    name: LogicalCloudName,
    states: States,
    #[serde(skip_serializing_if = "Option::is_none")]
    deployed_status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ready_status: Option<Readiness>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    deployed_counts: BTreeMap<&'static str, usize>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    ready_counts: BTreeMap<Readiness, usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    clusters: Vec<ClusterStatus>,
}

/// How far it is in one cluster.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClusterStatus {
    cluster_provider: ClusterProviderName,
    cluster: ClusterName,
    connectivity: &'static str,
    resources: Vec<Resource>,
}

/// In which clusters it is.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Clusters {
    project: ProjectName,
    name: LogicalCloudName,
    clusters_by_app: Vec<ClustersOfApp>,
}

#[derive(Serialize)]
struct ClustersOfApp {
    app: &'static str,
    clusters: Vec<Cluster>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Cluster {
    cluster_provider: ClusterProviderName,
    cluster: ClusterName,
}

/// What it has there.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Resources {
    project: ProjectName,
    name: LogicalCloudName,
    resources_by_app: Vec<ResourcesOfApp>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourcesOfApp {
    app: &'static str,
    #[serde(flatten)]
    cluster: Cluster,
    resources: Vec<NamedResource>,
}

#[derive(Serialize)]
struct NamedResource {
    name: String,
    #[serde(rename = "GVK")]
    gvk: Gvk,
}

pub(in crate::emco) async fn handle(
    Given(services): Given<Shared>,
    names: Names,
    asker: Asker,
    pairs: Result<Query<Vec<(String, String)>>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(pairs) = pairs.map_err(|_| Problem::bad_request("invalid query"))?;
    let asked = Asked::read(pairs)?;
    let missing = || Problem::bad_request("Logical Cloud state not found");
    let (project, cloud) = names.cloud().map_err(|_| missing())?;
    let status = services.clouds.status(&project, &cloud).await.map_err(|error| match error {
        Error::NotFound { .. } => missing(),
        error => error.into(),
    })?;
    let status = status.restricted_to(asker.reader());
    let states = States::of(&status);
    if asked.instance.as_ref().is_some_and(|instance| !states.is_latest(instance)) {
        // Only what is wanted now is known.
        return Err(Problem::bad_request("Invalid query instance"));
    }
    Ok(match asked.listing {
        Some(Listing::Clusters) => Answer(StatusCode::OK, clusters(&status)).into_response(),
        Some(Listing::Resources) => Answer(StatusCode::OK, by_app(&status, &asked)).into_response(),
        None => Answer(StatusCode::OK, told(&status, states, &asked)).into_response(),
    })
}

fn told(status: &CloudStatus, states: States, asked: &Asked) -> Status {
    let deployed_status = deployed_status(status.state);
    let clusters = if deployed_status.is_some() { in_clusters(status, asked) } else { Vec::new() };
    let all = || clusters.iter().flat_map(|cluster| &cluster.resources);
    let (mut deployed_counts, mut ready_counts) = (BTreeMap::new(), BTreeMap::new());
    all()
        .filter_map(|one| one.deployed_status)
        .for_each(|told| *deployed_counts.entry(told).or_default() += 1);
    all().filter_map(|one| one.ready_status).for_each(|told| *ready_counts.entry(told).or_default() += 1);
    let is_ready =
        status.state == State::Instantiated && ready_counts.keys().all(|told| *told == Readiness::Ready);
    let ready_status = if is_ready { Readiness::Ready } else { Readiness::NotReady };
    Status {
        project: status.project.clone(),
        name: status.name.clone(),
        states,
        deployed_status,
        ready_status: (deployed_status.is_some() && asked.form == Form::Ready).then_some(ready_status),
        deployed_counts,
        ready_counts,
        clusters: if asked.output == Output::Summary { Vec::new() } else { clusters },
    }
}

/// The clusters in which it has something that is asked for.
fn in_clusters(status: &CloudStatus, asked: &Asked) -> Vec<ClusterStatus> {
    let each = lanes(status).filter(|(cluster, _)| asked.is_about(cluster));
    let each = each.map(|(cluster, lane)| ClusterStatus {
        cluster_provider: cluster.provider.clone(),
        cluster: cluster.cluster.clone(),
        connectivity: connectivity(lane),
        resources: resources::of(lane, asked),
    });
    each.filter(|cluster| !cluster.resources.is_empty()).collect()
}

fn connectivity(lane: &LaneStatus) -> &'static str {
    match lane.cause.as_ref().map(|cause| cause.reason) {
        Some(Reason::Unreachable | Reason::Unauthorized) => "Retrying",
        _ => "Available",
    }
}

fn lanes(status: &CloudStatus) -> impl Iterator<Item = (&ClusterId, &LaneStatus)> {
    status.clusters.iter().filter_map(|(cluster, here)| Some((cluster, here.lane.as_ref()?)))
}

fn clusters(status: &CloudStatus) -> Clusters {
    let clusters: Vec<Cluster> = lanes(status).map(|(cluster, _)| named(cluster)).collect();
    let of_app = (!clusters.is_empty()).then_some(ClustersOfApp { app: APP, clusters });
    Clusters {
        project: status.project.clone(),
        name: status.name.clone(),
        clusters_by_app: of_app.into_iter().collect(),
    }
}

fn by_app(status: &CloudStatus, asked: &Asked) -> Resources {
    let each = in_clusters(status, asked).into_iter().map(|cluster| ResourcesOfApp {
        app: APP,
        cluster: Cluster { cluster_provider: cluster.cluster_provider, cluster: cluster.cluster },
        resources: cluster
            .resources
            .into_iter()
            .map(|Resource { name, gvk, .. }| NamedResource { name, gvk })
            .collect(),
    });
    Resources { project: status.project.clone(), name: status.name.clone(), resources_by_app: each.collect() }
}

fn named(cluster: &ClusterId) -> Cluster {
    Cluster { cluster_provider: cluster.provider.clone(), cluster: cluster.cluster.clone() }
}
