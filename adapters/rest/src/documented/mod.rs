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
use dcm_core::document::TEXT_BYTES_MAX;
use dcm_core::service::{OfClouds, OfClusters};
use tower::Layer as _;
use tower_http::normalize_path::NormalizePathLayer;

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
        Route::new(Method::GET, CLUSTERS, clusters::list::handle),
        Route::new(Method::POST, CLUSTERS, clusters::create::handle),
        Route::new(Method::GET, &cluster, clusters::get::handle),
        Route::new(Method::PUT, &cluster, clusters::put::handle),
        Route::new(Method::DELETE, &cluster, clusters::delete::handle),
        Route::new(Method::GET, &format!("{cluster}/check"), clusters::check::handle),
        Route::new(Method::POST, &format!("{cluster}/stop"), clusters::stop::handle),
        Route::new(Method::POST, &format!("{cluster}/resume"), clusters::resume::handle),
        Route::new(Method::POST, &format!("{cluster}/accept"), clusters::accept::handle),
        Route::new(Method::GET, &format!("{cluster}/orphans"), clusters::orphans::handle),
        Route::new(
            Method::DELETE,
            &format!("{cluster}/orphans/{{context}}"),
            clusters::clear_orphans::handle,
        ),
        Route::new(Method::GET, &clouds, clouds::list::handle),
        Route::new(Method::POST, &clouds, clouds::create::handle),
        Route::new(Method::GET, &cloud, clouds::get::handle),
        Route::new(Method::PUT, &cloud, clouds::put::handle),
        Route::new(Method::DELETE, &cloud, clouds::delete::handle),
        Route::new(Method::POST, &below("apply"), clouds::apply::handle),
        Route::new(Method::POST, &below("terminate"), clouds::terminate::handle),
        Route::new(Method::POST, &below("stop"), clouds::stop::handle),
        Route::new(Method::POST, &below("resume"), clouds::resume::handle),
        Route::new(Method::GET, &below("status"), clouds::status::handle),
        Route::new(Method::GET, &below("kubeconfig"), clouds::kubeconfig::handle),
        Route::new(Method::GET, &below("document"), clouds::get_document::handle),
        Route::new(Method::PUT, &below("document"), clouds::put_document::handle)
            .with_body_max(TEXT_BYTES_MAX),
        Route::new(Method::GET, &below("plan"), clouds::plan::handle),
        Route::new(Method::POST, &below("plan"), clouds::plan_document::handle).with_body_max(TEXT_BYTES_MAX),
        Route::new(Method::POST, &below("renew"), clouds::renew::handle),
        Route::new(Method::POST, &below("reconcile"), clouds::reconcile::handle),
        Route::new(Method::GET, &below("events"), clouds::events::handle),
        Route::new(Method::GET, &below("users/{name}/subject"), users::subject::handle),
        Route::new(Method::POST, &below("users/{name}/revoke"), users::revoke::handle),
        Route::new(Method::GET, &below("users/{name}/revocation"), users::revocation::handle),
        Route::new(Method::GET, "/v2/projects/{project}/audit", audit::of_project::handle),
        Route::new(Method::GET, "/v2/audit", audit::list::handle),
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
    let services = Arc::new(services);
    let routes = routes().into_iter().fold(Router::new(), |router, route| route.add_to(router));
    let routes = routes
        .fallback(nothing_there)
        .method_not_allowed_fallback(asked_otherwise)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(from_fn(problem::write))
        .layer(from_fn_with_state(services.clone(), request::begin))
        .with_state(services);
    Router::new().fallback_service(NormalizePathLayer::trim_trailing_slash().layer(routes))
}

async fn nothing_there(request: Request) -> Problem {
    Problem::new(Kind::NotFound, format!("there is nothing at {}", request.uri().path()))
}

async fn asked_otherwise(request: Request) -> Problem {
    let (method, path) = (request.method(), request.uri().path());
    Problem::new(Kind::MethodNotAllowed, format!("{path} does not take {method}"))
}
