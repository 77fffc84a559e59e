//! What MongoDB's refusals and failures mean to the caller.
//!
//! Its own words about a command can hold the command, and so a document: of those, the code and its name are told.

use std::sync::Arc;

use dcm_core::port::store::Error;
use mongodb::error::{Error as DriverError, ErrorKind};

/// No room is left on the server's disk.
const OUT_OF_DISK_SPACE: i32 = 14031;

/// The user may not do this.
const UNAUTHORIZED: i32 = 13;

/// Who we are was not accepted.
const AUTHENTICATION_FAILED: i32 = 18;

/// The member can't answer now, and may later: no primary, shutting down, a lost connection, no time left (MongoDB's list of codes
/// of errors after which a driver retries, and those of exceeded time).
const PASSING: [i32; 19] =
    [6, 7, 50, 63, 89, 91, 133, 134, 150, 189, 202, 262, 9001, 10058, 10107, 11600, 11602, 13435, 13436];

/// A server that did not answer, or could not.
#[derive(Debug, thiserror::Error)]
#[error("MongoDB does not answer: {0}")]
struct Silent(String);

/// No answer in time.
pub(super) fn timed_out() -> Error {
    unavailable("no answer in time")
}

/// The server may be able to later.
pub(super) fn unavailable(what: impl Into<String>) -> Error {
    Error::Unavailable { source: Arc::new(Silent(what.into())) }
}

/// What a failure of the driver means.
pub(super) fn of_driver(error: &DriverError) -> Error {
    match &*error.kind {
        ErrorKind::Command(refusal) => of_code(refusal.code, &refusal.code_name),
        ErrorKind::Authentication { message, .. } => {
            refused(format!("MongoDB does not accept who we are ({message})"))
        }
        ErrorKind::InvalidArgument { message, .. } | ErrorKind::InvalidTlsConfig { message, .. } => {
            refused(format!("can't use this place of MongoDB: {message}"))
        }
        ErrorKind::IncompatibleServer { message, .. } => {
            refused(format!("this MongoDB will not do: {message}"))
        }
        kind => unavailable(kind.to_string()),
    }
}

/// What a code of the server means.
pub(super) fn of_code(code: i32, name: &str) -> Error {
    let name = if name.is_empty() { format!("code {code}") } else { format!("{name}, code {code}") };
    match code {
        code if PASSING.contains(&code) => unavailable(name),
        OUT_OF_DISK_SPACE => refused(format!("MongoDB has no room left ({name})")),
        UNAUTHORIZED => refused(format!("MongoDB does not allow this user this ({name})")),
        AUTHENTICATION_FAILED => refused(format!("MongoDB does not accept who we are ({name})")),
        _ => refused(format!("MongoDB refuses it ({name})")),
    }
}

/// An answer that is not as MongoDB's protocol has it.
pub(super) fn not_an_answer(what: &str) -> Error {
    refused(format!("MongoDB's answer is without {what}"))
}

fn refused(reason: String) -> Error {
    Error::Failed { reason, source: None }
}
