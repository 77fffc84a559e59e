//! Records of controllers. Nobody is called.

mod create;
mod delete;
mod get;
mod list;
mod put;

use axum::http::{Method, StatusCode};
use dcm_core::controller::{ControllerDraft, ControllerGroup};
use dcm_core::name::ControllerName;
use dcm_core::service::{self, Error};

use super::names::Names;
use super::objects::Controller;
use super::problem::Problem;
use crate::access::Need;
use crate::route::Route;

/// A group of controllers that is served.
pub(super) trait Group: Send + Sync + 'static {
    const GROUP: ControllerGroup;
    /// What it needs to see or to change one.
    const NEED: Need = Need::of_controllers(Self::GROUP);
    /// What the segment of a path is called that names one.
    const SEGMENT: &'static str;
    /// What one is called in messages.
    const CALLED: &'static str;
    /// The status of an answer when one was put.
    const PUT_STATUS: StatusCode;
    /// True when controllers of the group have types.
    const HAS_TYPES: bool;
}

/// The orchestrator's.
pub(super) struct OfOrchestrator;

/// Those of CLM.
pub(super) struct OfClm;

impl Group for OfOrchestrator {
    const GROUP: ControllerGroup = ControllerGroup::Orchestrator;
    const SEGMENT: &'static str = "controller";
    const CALLED: &'static str = "Controller";
    const PUT_STATUS: StatusCode = StatusCode::CREATED;
    const HAS_TYPES: bool = true;
}

impl Group for OfClm {
    const GROUP: ControllerGroup = ControllerGroup::Cluster;
    const SEGMENT: &'static str = "controller-name";
    const CALLED: &'static str = "ClmController";
    const PUT_STATUS: StatusCode = StatusCode::OK;
    const HAS_TYPES: bool = false;
}

/// The routes of a group.
pub(super) fn routes<G: Group>(collection: &str) -> Vec<Route> {
    let one = format!("{collection}/{{{}}}", G::SEGMENT);
    vec![
        Route::new(Method::GET, collection, G::NEED, list::handle::<G>),
        Route::new(Method::POST, collection, G::NEED, create::handle::<G>),
        Route::new(Method::GET, &one, G::NEED, get::handle::<G>),
        Route::new(Method::PUT, &one, G::NEED, put::handle::<G>),
        Route::new(Method::DELETE, &one, G::NEED, delete::handle::<G>),
    ]
}

fn draft<G: Group>(mut sent: Controller) -> ControllerDraft {
    if !G::HAS_TYPES {
        sent.spec.kind = None;
    }
    sent.into()
}

fn body<G: Group>(controller: service::Controller) -> Controller {
    let mut body = Controller::from(controller.record);
    if !G::HAS_TYPES {
        body.spec.kind = None;
    }
    body
}

fn missing<G: Group>() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, format!("{} not found", G::CALLED))
}

fn name<G: Group>(names: &Names) -> Result<ControllerName, Problem> {
    names.text(G::SEGMENT).parse().map_err(|_| missing::<G>())
}

fn refused<G: Group>(error: Error) -> Problem {
    match error {
        Error::NotFound { .. } => missing::<G>(),
        Error::AlreadyThere { .. } => Problem::conflict(format!("{} already exists", G::CALLED)),
        error => error.into(),
    }
}
