//! Why there is no answer, or not the one that was asked for.

use dcm_core::problem::Kind;

use crate::connection::ANSWER_BYTES_MAX;
use crate::problem::Problem;

/// Why something was not done, or nobody knows whether it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server refuses it, or has failed.
    #[error("{0}")]
    Problem(Box<Problem>),
    /// There is no answer. What was asked for may have been done.
    #[error("no answer from {server}")]
    Silent {
        /// The server.
        server: String,
        /// What happened.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It takes too long. What was asked for may be done all the same.
    #[error("no answer from {server} in time")]
    TimedOut {
        /// The server.
        server: String,
    },
    /// The server's certificate is refused, or it does not speak TLS as is asked of it.
    #[error("there is no TLS with {server}")]
    Handshake {
        /// The server.
        server: String,
        /// What is wrong.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A list goes on where no list of this server does.
    #[error("a list of {server} goes on in {next:?}, which is not understood")]
    Astray {
        /// The server.
        server: String,
        /// Where it is said to go on.
        next: String,
    },
    /// The answer is too large.
    #[error("an answer of {server} has more than {ANSWER_BYTES_MAX} bytes")]
    Large {
        /// The server.
        server: String,
    },
    /// The answer is not what was asked for: this is no DCM server, or one of another version.
    #[error("an answer of {server} (status {status}) is not understood")]
    Unreadable {
        /// The server.
        server: String,
        /// Its status, as HTTP numbers them.
        status: u16,
        /// What is wrong with it.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A certificate, a key or an authority can't be used.
    #[error("{what} can't be used")]
    Tls {
        /// Which of them.
        what: &'static str,
        /// What is wrong with it.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A credential can't be sent.
    #[error("the token has characters that no header can have")]
    Token,
}

impl Error {
    /// What the server says, where it has answered.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Problem(problem) => Some(problem),
            _ => None,
        }
    }

    /// Whether the server says that there is a problem of this kind.
    #[must_use]
    pub fn is_of(&self, kind: Kind) -> bool {
        self.problem().and_then(Problem::kind) == Some(kind)
    }

    /// Whether the same request may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Problem(problem) => matches!(problem.status, 408 | 429 | 502 | 503 | 504),
            Self::Silent { .. } | Self::TimedOut { .. } => true,
            Self::Handshake { .. }
            | Self::Astray { .. }
            | Self::Large { .. }
            | Self::Unreadable { .. }
            | Self::Tls { .. }
            | Self::Token => false,
        }
    }
}
