//! The documented dialect: the routes, bodies and codes of the product's own API, under `/v2`.
//!
//! Every route answers with and without a slash at its end. Bodies are JSON objects of known fields; a field that is not known is
//! refused with its path. Errors are problems (`application/problem+json`, RFC 9457) with the field where there is one.

mod audit;
mod body;
mod clouds;
mod clusters;
mod controllers;
mod objects;
mod owners;
mod page;
mod parts;
mod place;
mod problem;
mod tag;
mod users;
mod warnings;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::Method;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use dcm_core::document::TEXT_BYTES_MAX;
use dcm_core::service::{OfClouds, OfClusters};
use tower::Layer as _;
use tower_http::normalize_path::NormalizePathLayer;

use crate::access::{self, Need};
use crate::services::Services;
use crate::{request, route};
use objects::{KeyValuesSpec, PermissionSpec, QuotaSpec, ReferenceSpec, UserSpec};
use problem::{Kind, Problem};
pub use route::Route;

/// Largest body, in bytes. A logical cloud with a thousand permissions has less than half of it.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;

/// All routes.
#[must_use]
pub fn routes() -> Vec<Route> {
    const CLUSTERS: &str = "/v2/cluster-providers/{provider}/clusters";
    let cluster = format!("{CLUSTERS}/{{cluster}}");
    let clouds = "/v2/projects/{project}/logical-clouds".to_owned();
    let cloud = format!("{clouds}/{{cloud}}");
    let below = |end: &str| format!("{cloud}/{end}");
    vec![
        Route::new(Method::GET, CLUSTERS, Need::AnyRole, clusters::list::handle),
        Route::new(Method::POST, CLUSTERS, Need::Clusters, clusters::create::handle),
        Route::new(Method::GET, &cluster, Need::AnyRole, clusters::get::handle),
        Route::new(Method::PUT, &cluster, Need::Clusters, clusters::put::handle),
        Route::new(Method::DELETE, &cluster, Need::Clusters, clusters::delete::handle),
        Route::new(Method::GET, &format!("{cluster}/check"), Need::Clusters, clusters::check::handle),
        Route::new(Method::POST, &format!("{cluster}/stop"), Need::Clusters, clusters::stop::handle),
        Route::new(Method::POST, &format!("{cluster}/resume"), Need::Clusters, clusters::resume::handle),
        Route::new(Method::POST, &format!("{cluster}/accept"), Need::Clusters, clusters::accept::handle),
        Route::new(Method::GET, &format!("{cluster}/orphans"), Need::Clusters, clusters::orphans::handle),
        Route::new(
            Method::DELETE,
            &format!("{cluster}/orphans/{{context}}"),
            Need::Platform,
            clusters::clear_orphans::handle,
        ),
        Route::new(Method::GET, &clouds, Need::View, clouds::list::handle),
        Route::new(Method::POST, &clouds, Need::Change, clouds::create::handle),
        Route::new(Method::GET, &cloud, Need::View, clouds::get::handle),
        Route::new(Method::PUT, &cloud, Need::Change, clouds::put::handle),
        Route::new(Method::DELETE, &cloud, Need::Change, clouds::delete::handle),
        Route::new(Method::POST, &below("apply"), Need::Change, clouds::apply::handle),
        Route::new(Method::POST, &below("terminate"), Need::Change, clouds::terminate::handle),
        Route::new(Method::POST, &below("stop"), Need::Change, clouds::stop::handle),
        Route::new(Method::POST, &below("resume"), Need::Change, clouds::resume::handle),
        Route::new(Method::GET, &below("status"), Need::View, clouds::status::handle),
        Route::new(Method::GET, &below("kubeconfig"), Need::Change, clouds::kubeconfig::handle),
        Route::new(Method::GET, &below("document"), Need::View, clouds::get_document::handle),
        Route::new(Method::PUT, &below("document"), Need::Change, clouds::put_document::handle)
            .with_body_max(TEXT_BYTES_MAX),
        Route::new(Method::GET, &below("plan"), Need::View, clouds::plan::handle),
        Route::new(Method::POST, &below("plan"), Need::Change, clouds::plan_document::handle)
            .with_body_max(TEXT_BYTES_MAX),
        Route::new(Method::POST, &below("renew"), Need::Change, clouds::renew::handle),
        Route::new(Method::POST, &below("reconcile"), Need::Platform, clouds::reconcile::handle),
        Route::new(Method::GET, &below("events"), Need::View, clouds::events::handle),
        Route::new(Method::GET, &below("users/{name}/subject"), Need::View, users::subject::handle),
        Route::new(Method::POST, &below("users/{name}/revoke"), Need::Change, users::revoke::handle),
        Route::new(Method::GET, &below("users/{name}/revocation"), Need::Change, users::revocation::handle),
        Route::new(Method::GET, "/v2/projects/{project}/audit", Need::View, audit::of_project::handle),
        Route::new(Method::GET, "/v2/audit", Need::Platform, audit::list::handle),
    ]
    .into_iter()
    .chain(owners::routes::<OfClouds>("/v2/projects"))
    .chain(owners::routes::<OfClusters>("/v2/cluster-providers"))
    .chain(controllers::routes::<controllers::OfOrchestrator>("/v2/controllers"))
    .chain(controllers::routes::<controllers::OfClusters>("/v2/cluster-controllers"))
    .chain(parts::routes::<ReferenceSpec>(&below("cluster-references")))
    .chain(parts::routes::<UserSpec>(&below("users")))
    .chain(parts::routes::<PermissionSpec>(&below("user-permissions")))
    .chain(parts::routes::<QuotaSpec>(&below("quotas")))
    .chain(parts::routes::<QuotaSpec>(&below("cluster-quotas")))
    .chain(parts::routes::<KeyValuesSpec>(&below("kv-pairs")))
    .collect()
}

/// Serves all routes.
pub fn router(services: Services) -> Router {
    let limits = services.limits;
    let services = Arc::new(services);
    let routes = routes().into_iter().fold(Router::new(), |router, route| route.add_to::<Problem>(router));
    let routes = routes
        .fallback(nothing_there)
        .method_not_allowed_fallback(asked_otherwise)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX));
    let routes = limits
        .hold(routes, problem::overloaded)
        .layer(from_fn(problem::write))
        .layer(from_fn_with_state(services.clone(), request::begin))
        .with_state(services);
    Router::new().fallback_service(NormalizePathLayer::trim_trailing_slash().layer(routes))
}

async fn nothing_there(request: Request) -> Response {
    match access::admitted(request.extensions()) {
        Err(denied) => denied.told_as::<Problem>(),
        Ok(_) => {
            let detail = format!("there is nothing at {}", request.uri().path());
            Problem::new(Kind::NotFound, detail).into_response()
        }
    }
}

async fn asked_otherwise(request: Request) -> Response {
    if let Err(denied) = access::admitted(request.extensions()) {
        return denied.told_as::<Problem>();
    }
    let (method, path) = (request.method(), request.uri().path());
    Problem::new(Kind::MethodNotAllowed, format!("{path} does not take {method}")).into_response()
}
