//! What goes wrong at a store or at a server.

use dcm_core::service::{self, Kind};

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The services refuse it, or have failed.
    #[error(transparent)]
    Here(#[from] service::Error),
    /// The server refuses it or has failed, or there is no answer.
    #[error(transparent)]
    There(#[from] dcm_client::Error),
}

impl Error {
    /// True where there is none of this kind. A server does not say what is missing.
    pub(crate) fn is_of_no(&self, kind: Kind) -> bool {
        match self {
            Self::Here(service::Error::NotFound { kind: missing, .. }) => *missing == kind,
            Self::Here(_) => false,
            Self::There(error) => error.problem().is_some_and(|problem| problem.kind() == "not-found"),
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
            Self::Here(_) => false,
            Self::There(error) => error.problem().is_some_and(|problem| problem.kind() == "internal"),
        }
    }
}
