//! What goes wrong at a store or at a server.

use std::time::Duration;

use dcm_client::Problem;
use dcm_core::document::WriteError;
use dcm_core::kubeconfig::Invalid;
use dcm_core::port::synchronizer::Error as Failure;
use dcm_core::service::{self, Kind, OrphanError};
use dcm_server::{DeclareError, PlanStale};

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The services refuse it, or have failed.
    #[error(transparent)]
    Here(#[from] service::Error),
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
            Self::There(error) => is_of(error, "not-found"),
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
            Self::There(error) => is_of(error, "already-there"),
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
            Self::There(error) => is_of(error, "internal"),
            _ => false,
        }
    }
}

/// True for a problem of this kind.
pub(super) fn is_of(error: &dcm_client::Error, kind: &str) -> bool {
    error.problem().is_some_and(|problem| problem.kind() == kind)
}

impl From<dcm_client::Error> for Error {
    fn from(error: dcm_client::Error) -> Self {
        match error {
            dcm_client::Error::Problem(problem) if problem.kind() == "plan-stale" => {
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
            DeclareError::Service(error) | DeclareError::NotApplied(error) => Self::Here(error),
        }
    }
}

impl From<Failure> for Error {
    fn from(error: Failure) -> Self {
        Self::Here(service::Error::Synchronizer(error))
    }
}
