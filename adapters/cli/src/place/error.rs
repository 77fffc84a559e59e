//! What goes wrong at a store or at a server.

use std::time::Duration;

use dcm_client::{Problem, ProblemKind};
use dcm_core::causes;
use dcm_core::document::WriteError;
use dcm_core::kubeconfig::Invalid;
use dcm_core::port::synchronizer::Error as Failure;
use dcm_core::service::{self, Class, Kind, OrphanError};
use dcm_server::{DeclareError, PlanStale};

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The services refuse it, or have failed.
    #[error(transparent)]
    Here(#[from] service::Error),
    /// The document is stored, and its apply is refused, or has failed.
    #[error(transparent)]
    StoredAlone(service::Error),
    /// The server refuses it or has failed, or there is no answer.
    #[error(transparent)]
    There(dcm_client::Error),
    /// Something else would be done than was planned.
    #[error("the plan is stale: {detail}")]
    Stale { detail: String },
    /// The work is paused, and it is not known that nothing is under way.
    #[error("paused, but after {} s {untold}", limit.as_secs())]
    StillUnderWay { limit: Duration, untold: String },
    /// A server handed out something else than a kubeconfig of ours.
    #[error("the kubeconfig of the server is not understood")]
    Kubeconfig(#[from] Invalid),
    /// A document could not be written as text.
    #[error(transparent)]
    Document(#[from] WriteError),
    /// Orphans could not be looked for, or not cleared.
    #[error(transparent)]
    Orphans(#[from] OrphanError),
}

impl Error {
    /// True where there is none of this kind. A server does not say what is missing.
    pub(crate) fn is_of_no(&self, kind: Kind) -> bool {
        match self {
            Self::Here(service::Error::NotFound { kind: missing, .. }) => *missing == kind,
            Self::There(error) => error.is_of(ProblemKind::NotFound),
            _ => false,
        }
    }

    /// True where a server is away, or busy: it may answer later.
    pub(crate) fn is_away(&self) -> bool {
        matches!(self, Self::There(error) if error.is_retryable())
    }

    /// True where there is such a thing already.
    pub(crate) fn is_already_there(&self) -> bool {
        match self {
            Self::Here(error) => matches!(error, service::Error::AlreadyThere { .. }),
            Self::There(error) => error.is_of(ProblemKind::AlreadyThere),
            _ => false,
        }
    }

    /// True when something that is stored of one cloud can't be read.
    pub(crate) fn is_about_one(&self) -> bool {
        match self {
            Self::Here(
                service::Error::Unreadable { .. }
                | service::Error::UnknownSchema { .. }
                | service::Error::Incomplete { .. },
            ) => true,
            Self::Here(service::Error::Synchronizer(source)) => !source.is_retryable(),
            Self::There(error) => error.is_of(ProblemKind::Internal),
            _ => false,
        }
    }
}

impl From<dcm_client::Error> for Error {
    fn from(error: dcm_client::Error) -> Self {
        match error {
            dcm_client::Error::Problem(problem) if problem.kind() == Some(ProblemKind::PlanStale) => {
                let Problem { detail, .. } = *problem;
                Self::Stale { detail }
            }
            error => Self::There(error),
        }
    }
}

impl From<PlanStale> for Error {
    fn from(PlanStale { detail }: PlanStale) -> Self {
        Self::Stale { detail }
    }
}

impl From<DeclareError> for Error {
    fn from(error: DeclareError) -> Self {
        match error {
            DeclareError::Stale(stale) => stale.into(),
            DeclareError::Service(error) => Self::Here(error),
            // A server tells no more of it either.
            DeclareError::NotApplied(error) if error.class() == Class::PlanStale => {
                Self::Stale { detail: causes::told(&error) }
            }
            DeclareError::NotApplied(error) => Self::StoredAlone(error),
        }
    }
}

impl From<Failure> for Error {
    fn from(error: Failure) -> Self {
        Self::Here(service::Error::Synchronizer(error))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stale_plan_is_told_as_one_once_wherever_it_was_found_out() {
        let changed = || service::Error::Stale { cloud: "shop".parse().unwrap() };
        let here = Error::from(DeclareError::NotApplied(changed()));
        let told = json!({"type": "/problems/plan-stale", "status": 409, "detail": changed().to_string()});
        let problem = serde_json::from_value(told).unwrap();
        let there = Error::from(dcm_client::Error::Problem(Box::new(problem)));
        assert_eq!(here.to_string(), there.to_string());
        let detail = "edge/one: not as it was".to_owned();
        for error in [here, there, DeclareError::Stale(PlanStale { detail }).into()] {
            assert_eq!(error.to_string().matches("the plan is stale").count(), 1, "{error}");
        }
    }
}
