//! Records of controllers: external programs that may be called when an app context is made, or a cluster registered.

mod create;
mod delete;
mod get;
mod list;
mod put;

use dcm_core::controller::ControllerGroup;
use dcm_core::name::ControllerName;
use schemars::JsonSchema;
use serde::Deserialize;

use super::openapi::{self, Described};
use crate::access::Need;

/// A group of controllers that is served.
pub(super) trait Group: Send + Sync + 'static {
    const GROUP: ControllerGroup;
    /// One and several of them, in words.
    const ONE: &'static str;
    const MANY: &'static str;
    /// What it needs to see or to change one.
    const NEED: Need = Need::of_controllers(Self::GROUP);
}

/// Those that are called when applications are brought to clusters.
pub(super) struct OfOrchestrator;

/// Those that are called when clusters are registered.
pub(super) struct OfClusters;

impl Group for OfOrchestrator {
    const GROUP: ControllerGroup = ControllerGroup::Orchestrator;
    const ONE: &'static str = "a controller";
    const MANY: &'static str = "controllers";
}

impl Group for OfClusters {
    const GROUP: ControllerGroup = ControllerGroup::Cluster;
    const ONE: &'static str = "a controller of clusters";
    const MANY: &'static str = "controllers of clusters";
}

/// One controller of a group.
#[derive(Deserialize, JsonSchema)]
struct One {
    /// The controller.
    controller: ControllerName,
}

/// The routes of a group.
pub(super) fn routes<G: Group>(collection: &str) -> Vec<Described> {
    let one = format!("{collection}/{{controller}}");
    vec![
        openapi::get(collection, G::NEED, list::handle::<G>, list::describe::<G>),
        openapi::post(collection, G::NEED, create::handle::<G>, create::describe::<G>),
        openapi::get(&one, G::NEED, get::handle::<G>, get::describe::<G>),
        openapi::put(&one, G::NEED, put::handle::<G>, put::describe::<G>),
        openapi::delete(&one, G::NEED, delete::handle::<G>, delete::describe::<G>),
    ]
}
