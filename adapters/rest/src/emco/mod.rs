//! The EMCO dialect: what EMCO's orchestrator, CLM and DCM answer to for projects, controllers' records, clusters and logical
//! clouds, so that EMCO's own clients work as they are.
//!
//! Bodies are JSON objects whose members are matched in any case; members that are not known are passed over. Errors are lines of
//! plain text. What is answered otherwise than EMCO does is listed in `docs/emco.md`.

mod answer;
mod body;
mod clouds;
mod clusters;
mod controllers;
mod key_values;
mod labels;
mod names;
mod objects;
mod owners;
mod pages;
#[cfg(feature = "parsers")]
pub(crate) mod parsing;
mod parts;
mod problem;
mod references;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{Method, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use dcm_core::service::{OfClouds, OfClusters};

use crate::access::{self, Need};
use crate::request;
use crate::route::Route;
use crate::services::Services;
use controllers::{OfClm, OfOrchestrator};
use objects::{KeyValues, Permission, Quota};
use problem::Problem;

/// Largest body, in bytes; that of a cluster holds its kubeconfig.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;

/// A service of EMCO: each has a port of its own there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// Projects and controllers.
    Orchestrator,
    /// Cluster providers and clusters.
    Clm,
    /// Logical clouds.
    Dcm,
}

impl Service {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Orchestrator, Self::Clm, Self::Dcm];

    /// Its name, as in configurations of EMCO's client.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Orchestrator => "orchestrator",
            Self::Clm => "clm",
            Self::Dcm => "dcm",
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that names no service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownService;

impl fmt::Display for UnknownService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a service is orchestrator, clm or dcm")
    }
}

impl std::error::Error for UnknownService {}

impl FromStr for Service {
    type Err = UnknownService;

    fn from_str(text: &str) -> Result<Self, UnknownService> {
        Self::ALL.into_iter().find(|service| service.as_str() == text).ok_or(UnknownService)
    }
}

/// All routes of a service.
#[must_use]
pub fn routes(service: Service) -> Vec<Route> {
    match service {
        Service::Orchestrator => owners::routes::<OfClouds>("/v2/projects")
            .into_iter()
            .chain(controllers::routes::<OfOrchestrator>("/v2/controllers"))
            .collect(),
        Service::Clm => clm(),
        Service::Dcm => dcm(),
    }
}

fn clm() -> Vec<Route> {
    const CLUSTERS: &str = "/v2/cluster-providers/{clusterProvider}/clusters";
    let cluster = format!("{CLUSTERS}/{{cluster}}");
    let (labels, key_values) = (format!("{cluster}/labels"), format!("{cluster}/kv-pairs"));
    let (label, key_value) = (format!("{labels}/{{clusterLabel}}"), format!("{key_values}/{{clusterKv}}"));
    vec![
        Route::new(Method::GET, CLUSTERS, Need::AnyRole, clusters::list::handle),
        Route::new(Method::POST, CLUSTERS, Need::Clusters, clusters::create::handle),
        Route::new(Method::GET, &cluster, Need::AnyRole, clusters::get::handle),
        Route::new(Method::DELETE, &cluster, Need::Clusters, clusters::delete::handle),
        Route::new(Method::GET, &labels, Need::AnyRole, labels::list::handle),
        Route::new(Method::POST, &labels, Need::Clusters, labels::create::handle),
        Route::new(Method::GET, &label, Need::AnyRole, labels::get::handle),
        Route::new(Method::PUT, &label, Need::Clusters, labels::put::handle),
        Route::new(Method::DELETE, &label, Need::Clusters, labels::delete::handle),
        Route::new(Method::GET, &key_values, Need::Clusters, key_values::list::handle),
        Route::new(Method::POST, &key_values, Need::Clusters, key_values::create::handle),
        Route::new(Method::GET, &key_value, Need::Clusters, key_values::get::handle),
        Route::new(Method::PUT, &key_value, Need::Clusters, key_values::put::handle),
        Route::new(Method::DELETE, &key_value, Need::Clusters, key_values::delete::handle),
    ]
    .into_iter()
    .chain(owners::routes::<OfClusters>("/v2/cluster-providers"))
    .chain(controllers::routes::<OfClm>("/v2/clm-controllers"))
    .collect()
}

fn dcm() -> Vec<Route> {
    const CLOUDS: &str = "/v2/projects/{project}/logical-clouds";
    let cloud = format!("{CLOUDS}/{{logicalCloud}}");
    let below = |end: &str| format!("{cloud}/{end}");
    let reference = below("cluster-references/{clusterReference}");
    vec![
        Route::new(Method::GET, CLOUDS, Need::View, clouds::list::handle),
        Route::new(Method::POST, CLOUDS, Need::Change, clouds::create::handle),
        Route::new(Method::GET, &cloud, Need::View, clouds::get::handle),
        Route::new(Method::PUT, &cloud, Need::Change, clouds::put::handle),
        Route::new(Method::DELETE, &cloud, Need::Change, clouds::delete::handle),
        Route::new(Method::POST, &below("instantiate"), Need::Change, clouds::instantiate::handle),
        Route::new(Method::POST, &below("terminate"), Need::Change, clouds::terminate::handle),
        Route::new(Method::POST, &below("update"), Need::Change, clouds::update::handle),
        Route::new(Method::POST, &below("stop"), Need::Change, clouds::stop::handle),
        Route::new(Method::GET, &below("status"), Need::View, clouds::status::handle),
        Route::new(Method::GET, &below("cluster-references"), Need::View, references::list::handle),
        Route::new(Method::POST, &below("cluster-references"), Need::Change, references::create::handle),
        Route::new(Method::GET, &reference, Need::View, references::get::handle),
        Route::new(Method::DELETE, &reference, Need::Change, references::delete::handle),
        Route::new(
            Method::GET,
            &format!("{reference}/kubeconfig"),
            Need::Change,
            references::kubeconfig::handle,
        ),
    ]
    .into_iter()
    .chain(parts::routes::<Permission>(&below("user-permissions")))
    .chain(parts::routes::<Quota>(&below("cluster-quotas")))
    .chain(parts::routes::<KeyValues>(&below("kv-pairs")))
    .collect()
}

/// Serves the routes of some services.
pub fn router(services: Services, served: impl IntoIterator<Item = Service>) -> Router {
    let limits = services.limits;
    let services = Arc::new(services);
    let routes = served.into_iter().flat_map(routes);
    let routes = routes
        .fold(Router::new(), |router, route| route.add_to::<Problem>(router))
        .fallback(nothing_there)
        .method_not_allowed_fallback(asked_otherwise)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX));
    limits
        .hold(routes, problem::overloaded)
        .layer(from_fn_with_state(services.clone(), request::begin))
        .with_state(services)
}

async fn nothing_there(request: Request) -> Response {
    match access::admitted(request.extensions()) {
        Ok(_) => Problem::new(StatusCode::NOT_FOUND, "404 page not found").into_response(),
        Err(denied) => denied.told_as::<Problem>(),
    }
}

async fn asked_otherwise(request: Request) -> Response {
    match access::admitted(request.extensions()) {
        Ok(_) => StatusCode::METHOD_NOT_ALLOWED.into_response(),
        Err(denied) => denied.told_as::<Problem>(),
    }
}
