//! The documented dialect: the routes, bodies and codes of the product's own API, under `/v2`.
//!
//! Every route answers with and without a slash at its end. Bodies are JSON objects of known fields; a field that is not known is
//! refused with its path. Errors are problems (`application/problem+json`, RFC 9457) with the field where there is one.
//!
//! [`openapi()`] describes all of it; it is made of the same routes.

mod audit;
mod body;
mod clouds;
mod clusters;
mod controllers;
mod meaning;
mod metrics;
mod objects;
mod openapi;
mod owners;
mod page;
mod pages;
#[cfg(feature = "parsers")]
pub(crate) mod parsing;
mod parts;
mod place;
mod problem;
mod stopping;
mod tag;
mod users;
mod warnings;

pub(crate) use clouds::events::Broadcasts;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use dcm_core::document::TEXT_BYTES_MAX;
use dcm_core::service::{OfClouds, OfClusters};
use serde_json::Value;
use tower::Layer as _;
use tower_http::normalize_path::NormalizePathLayer;

use crate::access::{self, Need};
use crate::services::Services;
use crate::{request, route};
use objects::{KeyValuesSpec, PermissionSpec, QuotaSpec, ReferenceSpec, UserSpec};
use openapi::{Described, delete, get, post, put};
use problem::{Kind, Problem};
pub use route::Route;

/// Largest body, in bytes. A logical cloud with a thousand permissions has less than half of it.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;

/// All routes, with what the document says of them.
fn described() -> Vec<Described> {
    of_clusters()
        .into_iter()
        .chain(of_clouds())
        .chain(of_everything())
        .chain(owners::routes::<OfClouds>("/v2/projects"))
        .chain(owners::routes::<OfClusters>("/v2/cluster-providers"))
        .chain(controllers::routes::<controllers::OfOrchestrator>("/v2/controllers"))
        .chain(controllers::routes::<controllers::OfClusters>("/v2/cluster-controllers"))
        .chain(parts::routes::<ReferenceSpec>(&of_cloud("cluster-references")))
        .chain(parts::routes::<UserSpec>(&of_cloud("users")))
        .chain(parts::routes::<PermissionSpec>(&of_cloud("user-permissions")))
        .chain(parts::routes::<QuotaSpec>(&of_cloud("quotas")))
        .chain(parts::routes::<QuotaSpec>(&of_cloud("cluster-quotas")))
        .chain(parts::routes::<KeyValuesSpec>(&of_cloud("kv-pairs")))
        .collect()
}

/// What is below a logical cloud.
fn of_cloud(end: &str) -> String {
    format!("/v2/projects/{{project}}/logical-clouds/{{cloud}}/{end}")
}

fn of_clusters() -> Vec<Described> {
    use Need::{AnyRole, Clusters, Platform};
    use clusters::{accept, check, check_for, clear_orphans, create, list, orphans, resume, stop};
    let all = "/v2/cluster-providers/{provider}/clusters";
    let one = &format!("{all}/{{cluster}}");
    let below = |end: &str| format!("{one}/{end}");
    vec![
        get(all, AnyRole, list::handle, list::describe),
        post(all, Clusters, create::handle, create::describe),
        get(one, AnyRole, clusters::get::handle, clusters::get::describe),
        put(one, Clusters, clusters::put::handle, clusters::put::describe),
        delete(one, Clusters, clusters::delete::handle, clusters::delete::describe),
        get(&below("check"), Clusters, check::handle, check::describe),
        post(&below("check"), Clusters, check_for::handle, check_for::describe),
        post(&below("stop"), Clusters, stop::handle, stop::describe),
        post(&below("resume"), Clusters, resume::handle, resume::describe),
        post(&below("accept"), Clusters, accept::handle, accept::describe),
        get(&below("orphans"), Clusters, orphans::handle, orphans::describe),
        delete(&below("orphans/{context}"), Platform, clear_orphans::handle, clear_orphans::describe),
    ]
}

fn of_clouds() -> Vec<Described> {
    use Need::{Change, Platform, View};
    use clouds::{
        apply, create, events, get_document, kubeconfig, list, other_bindings, plan, plan_document,
        put_document, reconcile, remove_other_bindings, renew, resume, service_mesh, status, stop, terminate,
    };
    use users::{credential, revocation, revoke, subject};
    let all = "/v2/projects/{project}/logical-clouds";
    let one = &format!("{all}/{{cloud}}");
    let below = of_cloud;
    vec![
        get(all, View, list::handle, list::describe),
        post(all, Change, create::handle, create::describe),
        get(one, View, clouds::get::handle, clouds::get::describe),
        put(one, Change, clouds::put::handle, clouds::put::describe),
        delete(one, Change, clouds::delete::handle, clouds::delete::describe),
        post(&below("apply"), Change, apply::handle, apply::describe),
        post(&below("terminate"), Change, terminate::handle, terminate::describe),
        post(&below("stop"), Change, stop::handle, stop::describe),
        post(&below("resume"), Change, resume::handle, resume::describe),
        get(&below("status"), View, status::handle, status::describe),
        get(&below("kubeconfig"), Change, kubeconfig::handle, kubeconfig::describe),
        get(&below("document"), View, get_document::handle, get_document::describe),
        put(&below("document"), Change, put_document::handle, put_document::describe)
            .with_body_max(TEXT_BYTES_MAX),
        get(&below("plan"), View, plan::handle, plan::describe),
        post(&below("plan"), Change, plan_document::handle, plan_document::describe)
            .with_body_max(TEXT_BYTES_MAX),
        post(&below("renew"), Change, renew::handle, renew::describe),
        post(&below("reconcile"), Platform, reconcile::handle, reconcile::describe),
        get(&below("events"), View, events::handle, events::describe),
        get(&below("service-mesh"), View, service_mesh::handle, service_mesh::describe),
        get(&below("other-bindings"), Change, other_bindings::handle, other_bindings::describe),
        delete(
            &below("other-bindings"),
            Change,
            remove_other_bindings::handle,
            remove_other_bindings::describe,
        ),
        get(&below("users/{name}/credential"), Change, credential::handle, credential::describe),
        get(&below("users/{name}/subject"), View, subject::handle, subject::describe),
        post(&below("users/{name}/revoke"), Change, revoke::handle, revoke::describe),
        get(&below("users/{name}/revocation"), Change, revocation::handle, revocation::describe),
    ]
}

fn of_everything() -> Vec<Described> {
    use Need::{Metrics, Nothing, Platform, View};
    use audit::{list, of_project};
    use openapi::served;
    use pages::{DOCS, PROBLEMS, docs, problem, problems};
    vec![
        get("/v2/projects/{project}/audit", View, of_project::handle, of_project::describe),
        get("/v2/audit", Platform, list::handle, list::describe),
        get("/metrics", Metrics, metrics::handle, metrics::describe),
        get(openapi::PATH, Nothing, served::handle, served::describe),
        get(DOCS, Nothing, docs::handle, docs::describe),
        get(PROBLEMS, Nothing, problems::handle, problems::describe),
        get(&format!("{PROBLEMS}/{{problem}}"), Nothing, problem::handle, problem::describe),
    ]
}

/// All routes.
#[must_use]
pub fn routes() -> Vec<Route> {
    described().into_iter().map(|described| described.route).collect()
}

/// The document that describes all routes: OpenAPI 3.1.
#[must_use]
pub fn openapi() -> Value {
    openapi::document(&described())
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
