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
/// of errors after which a driver retries, those of exceeded time, and those of what somebody or a lock interrupted).
const PASSING: [i32; 24] = [
    6, 7, 24, 43, 50, 63, 89, 91, 112, 133, 134, 150, 189, 202, 237, 262, 9001, 10058, 10107, 11600, 11601,
    11602, 13435, 13436,
];

/// A command is refused before anything of it is done: a bad value, what can't be parsed, not authorized, a type that does not
/// match, authentication, an illegal operation, no such command, bad options, a bad namespace, not implemented.
const BEFORE_ALL: [i32; 10] = [2, 9, UNAUTHORIZED, 14, AUTHENTICATION_FAILED, 20, 59, 72, 73, 238];

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

/// What a failure of the driver means when updates were asked for: where a whole command fails, some of them may have been made.
pub(super) fn of_update(error: &DriverError) -> Error {
    match (&*error.kind, of_driver(error)) {
        (ErrorKind::Command(refusal), Error::Failed { reason, .. })
            if !BEFORE_ALL.contains(&refusal.code) =>
        {
            unavailable(reason)
        }
        (_, error) => error,
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

#[cfg(test)]
mod tests {
    use mongodb::bson::{deserialize_from_document, doc};

    use super::*;

    fn command(code: i32) -> DriverError {
        let refusal =
            deserialize_from_document(doc! { "code": code, "codeName": "Name", "errmsg": "secret words" });
        ErrorKind::Command(refusal.unwrap()).into()
    }

    #[test]
    fn what_interrupts_a_command_passes_and_what_is_refused_stays_refused() {
        for (code, passes) in [(11601, true), (43, true), (UNAUTHORIZED, false), (4711, false)] {
            let error = of_driver(&command(code));
            assert_eq!(error.is_retryable(), passes, "{error:?}");
            assert!(!format!("{error:?} {error}").contains("secret"));
        }
    }

    #[test]
    fn nobody_knows_what_became_of_updates_unless_they_were_refused_before_the_first() {
        for (code, is_known) in
            [(11601, false), (4711, false), (OUT_OF_DISK_SPACE, false), (UNAUTHORIZED, true)]
        {
            let error = of_update(&command(code));
            assert_eq!(!error.is_retryable(), is_known, "{error:?}");
        }
    }
}
