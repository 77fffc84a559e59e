//! Records of controllers: external programs that may be called when an app context is made, or a cluster registered.

mod create;
mod delete;
mod get;
mod list;
mod put;

use axum::http::Method;
use dcm_core::controller::ControllerGroup;
use dcm_core::name::ControllerName;
use serde::Deserialize;

use super::route::Route;
use crate::access::Need;

/// A group of controllers that is served.
pub(super) trait Group: Send + Sync + 'static {
    const GROUP: ControllerGroup;
    /// What it needs to see or to change one.
    const NEED: Need;
}

/// Those that are called when applications are brought to clusters.
pub(super) struct OfOrchestrator;

/// Those that are called when clusters are registered.
pub(super) struct OfClusters;

impl Group for OfOrchestrator {
    const GROUP: ControllerGroup = ControllerGroup::Orchestrator;
    const NEED: Need = Need::Platform;
}

impl Group for OfClusters {
    const GROUP: ControllerGroup = ControllerGroup::Cluster;
    const NEED: Need = Need::Clusters;
}

/// One controller of a group.
#[derive(Deserialize)]
struct One {
    controller: ControllerName,
}

/// The routes of a group.
pub(super) fn routes<G: Group>(collection: &str) -> Vec<Route> {
    let one = format!("{collection}/{{controller}}");
    vec![
        Route::new(Method::GET, collection, G::NEED, list::handle::<G>),
        Route::new(Method::POST, collection, G::NEED, create::handle::<G>),
        Route::new(Method::GET, &one, G::NEED, get::handle::<G>),
        Route::new(Method::PUT, &one, G::NEED, put::handle::<G>),
        Route::new(Method::DELETE, &one, G::NEED, delete::handle::<G>),
    ]
}
