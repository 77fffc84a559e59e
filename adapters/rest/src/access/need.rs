//! What a route needs, and whether somebody has it.

use std::fmt;

use axum::extract::RawPathParams;
use axum::http::Extensions;
use axum::response::{IntoResponse, Response};
use dcm_core::controller::ControllerGroup;

use super::admission::{Admission, Asker, NotAdmitted};
use super::rights::ProjectRole;

/// The segment of a path that names a project.
const PROJECT: &str = "project";

/// What somebody needs to ask a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Nothing at all: what is answered is known to everybody.
    Nothing,
    /// Any role. What is answered may still depend on which.
    AnyRole,
    /// A role in the project of the path.
    View,
    /// To be an admin of the project of the path.
    Change,
    /// To be a cluster registrar.
    Clusters,
    /// To be a reader of metrics.
    Metrics,
    /// To be a platform admin, who has all that others need, too.
    Platform,
}

impl Need {
    /// What it needs to see or to change the record of a controller.
    pub(crate) const fn of_controllers(group: ControllerGroup) -> Self {
        match group {
            ControllerGroup::Orchestrator => Self::Platform,
            ControllerGroup::Cluster => Self::Clusters,
        }
    }

    /// The least role that has it, as in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::AnyRole => "any role",
            Self::View => "project-viewer",
            Self::Change => "project-admin",
            Self::Clusters => "cluster-registrar",
            Self::Metrics => "metrics-reader",
            Self::Platform => "platform-admin",
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a route is not asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Denied {
    /// Nobody is let in.
    NotAdmitted(NotAdmitted),
    /// The asker has no role in the project: it is answered as if it were not there.
    NoSuchProject(String),
    /// The asker lacks what is needed.
    Forbidden(Need),
}

impl Denied {
    /// The answer, as a dialect says it.
    pub(crate) fn told_as<P: for<'a> From<&'a Self> + IntoResponse>(&self) -> Response {
        let mut response = P::from(self).into_response();
        if let Self::NotAdmitted(refused) = self
            && let Some((name, value)) = refused.header()
        {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAdmitted(refused) => refused.fmt(f),
            Self::NoSuchProject(name) => write!(f, "there is no project {name}"),
            Self::Forbidden(Need::AnyRole) => f.write_str("no role is bound to you"),
            Self::Forbidden(need) => write!(f, "this needs the role {need}"),
        }
    }
}

/// Holds what a route needs against who asks.
pub(crate) fn check(
    need: Need,
    names: Option<&RawPathParams>,
    extensions: &Extensions,
) -> Result<(), Denied> {
    let asker = match admitted(extensions) {
        Err(Denied::NotAdmitted(
            NotAdmitted::Anonymous | NotAdmitted::Refused(_) | NotAdmitted::NotNow(_),
        )) if need == Need::Nothing => return Ok(()),
        admitted => admitted?,
    };
    let rights = &asker.rights;
    let in_project = || {
        let name = names.and_then(|names| names.iter().find(|(segment, _)| *segment == PROJECT));
        let name = name.map_or("", |(_, name)| name);
        rights.in_project(name).ok_or_else(|| Denied::NoSuchProject(name.to_owned()))
    };
    let has_it = match need {
        Need::Nothing => true,
        Need::AnyRole => rights.has_any(),
        Need::View => in_project()? >= ProjectRole::Viewer,
        Need::Change => in_project()? >= ProjectRole::Admin,
        Need::Clusters => rights.has_clusters(),
        Need::Metrics => rights.has_metrics(),
        Need::Platform => rights.has_all(),
    };
    if has_it { Ok(()) } else { Err(Denied::Forbidden(need)) }
}

/// Who asks.
pub(crate) fn admitted(extensions: &Extensions) -> Result<&Asker, Denied> {
    match extensions.get::<Admission>() {
        Some(Ok(asker)) => Ok(asker),
        Some(Err(refused)) => Err(Denied::NotAdmitted(refused.clone())),
        None => Err(Denied::NotAdmitted(NotAdmitted::Anonymous)),
    }
}
