//! What can go wrong with an environment.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::{audit, certificates, guard, probe, process, programs};

/// Why an environment could not be started, or one of its servers not started again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The threads that work in the background did not start.
    #[error("could not start the background threads of the environment")]
    Runtime(#[source] io::Error),
    /// A program is missing, and could not be built.
    #[error("the server programs are not complete")]
    Programs(#[from] programs::Error),
    /// No free port was found.
    #[error("could not get a free port on loopback")]
    Port(#[source] io::Error),
    /// A name for the folder could not be made.
    #[error("could not make a name for the folder of the environment")]
    Name(#[source] io::Error),
    /// The guard, who cleans up after this process, could not be set up.
    #[error("could not set up the guard of the environment")]
    Guard(#[from] guard::Error),
    /// A certificate or a key could not be made.
    #[error("could not make the certificates of a server")]
    Certificates(#[from] certificates::Error),
    /// A file in the folder of the environment could not be written.
    #[error("could not write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The client that asks a server for its state could not be made.
    #[error("could not set up the client for {server}")]
    Probe {
        /// The server.
        server: String,
        /// What failed.
        source: probe::Error,
    },
    /// The audit log of a killed server could not be tidied up.
    #[error("could not tidy up the audit log of a killed server")]
    AuditLog(#[from] audit::Error),
    /// A server did not start, or ended by itself.
    #[error("{server} does not run")]
    Process {
        /// The server.
        server: String,
        /// What happened to it.
        source: process::Error,
    },
    /// A server runs and does not become ready.
    #[error(
        "{server} was not ready after {} s (last answer: {last_answer}); the end of its log {}:\n{tail}",
        waited.as_secs(), log.display()
    )]
    NotReady {
        /// The server.
        server: String,
        /// How long it had.
        waited: Duration,
        /// What it said at last.
        last_answer: String,
        /// Its log.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// The servers that the tests of this process share could not be started; every test that asks for it gets the same error.
    #[error("the servers that the tests of this process share could not be started")]
    Shared(#[source] Arc<Self>),
}

impl Error {
    /// Whether the same call can succeed when it is made again.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Process { source, .. } => source.is_retryable(),
            Self::Probe { source, .. } => source.is_retryable(),
            Self::Guard(error) => error.is_retryable(),
            Self::Programs(error) => error.is_retryable(),
            Self::AuditLog(error) => error.is_retryable(),
            Self::Certificates(error) => error.is_retryable(),
            Self::Port(_) | Self::NotReady { .. } => true,
            Self::Runtime(_) | Self::Name(_) | Self::Write { .. } | Self::Shared(_) => false,
        }
    }

    /// Whether somebody else took a port between its choice and the start of the server.
    pub(crate) fn is_port_taken(&self) -> bool {
        matches!(self, Self::Process { source, .. } if source.is_retryable())
    }
}
