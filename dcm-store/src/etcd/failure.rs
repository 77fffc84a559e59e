//! What etcd's refusals and failures mean to the caller.

use std::fmt;
use std::sync::Arc;

use dcm_core::port::store::Error;
use tonic::{Code, ConnectError, Status};

/// What etcd says to a request that is too large, or has too many parts.
const TOO_LARGE: [&str; 2] = ["request is too large", "too many operations"];

/// What etcd says when it has no room left.
const NO_SPACE: &str = "database space exceeded";

/// What etcd says to a token that it does not know any more, and to one from before its users were changed.
const OLD_TOKEN: [&str; 2] = ["invalid auth token", "revision of auth store is old"];

/// What etcd says when it asks nobody who they are.
const NO_USERS: &str = "authentication is not enabled";

/// What etcd says when it asks who we are, and nobody has said it.
const NO_NAME: &str = "user name is empty";

/// What etcd says to a wrong user or password.
const WRONG_PASSWORD: &str = "invalid user ID or password";

fn says(status: &Status, what: &str) -> bool {
    status.message().contains(what)
}

/// True when asking for a new token may help.
pub(super) fn is_about_token(status: &Status) -> bool {
    OLD_TOKEN.iter().any(|what| says(status, what))
}

/// True when etcd knows no users.
pub(super) fn knows_no_users(status: &Status) -> bool {
    says(status, NO_USERS)
}

/// True when etcd asks who we are, and nobody has said it.
pub(super) fn asks_for_user(status: &Status) -> bool {
    says(status, NO_NAME)
}

/// True when another member may be able to answer.
pub(super) fn is_of_member(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::Unavailable
            | Code::DeadlineExceeded
            | Code::Cancelled
            | Code::Unknown
            | Code::Internal
            | Code::Aborted
    )
}

/// True when nothing was sent, since nobody was reached.
pub(super) fn was_not_sent(status: &Status) -> bool {
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        if error.is::<ConnectError>() {
            return true;
        }
        source = error.source();
    }
    false
}

/// Members that did not answer, or could not, in the order in which they were tried.
#[derive(Debug, Default, thiserror::Error)]
pub(super) struct Silent(Vec<(Arc<str>, Status)>);

impl Silent {
    pub(super) fn add(&mut self, endpoint: &Arc<str>, status: Status) {
        self.0.push((endpoint.clone(), status));
    }
}

impl fmt::Display for Silent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (endpoint, status)) in self.0.iter().enumerate() {
            let separator = if number == 0 { "" } else { "; " };
            write!(f, "{separator}etcd at {endpoint} does not answer: {}", status.message())?;
        }
        Ok(())
    }
}

/// What a refusal or failure of a member means, after others that were silent.
pub(super) fn of_status(mut earlier: Silent, endpoint: &Arc<str>, status: Status) -> Error {
    let silent = |status| {
        earlier.add(endpoint, status);
        Error::Unavailable { source: Arc::new(earlier) }
    };
    let reason = match status.code() {
        _ if is_of_member(&status) => return silent(status),
        _ if TOO_LARGE.iter().any(|what| says(&status, what)) => {
            return Error::Invalid { reason: format!("etcd refuses it: {}", status.message()) };
        }
        Code::ResourceExhausted if says(&status, NO_SPACE) => "has no room left",
        Code::ResourceExhausted => return silent(status),
        _ if says(&status, WRONG_PASSWORD) => "does not accept this user and password",
        _ if asks_for_user(&status) => "asks who we are: a user and a password are missing",
        Code::Unauthenticated => "does not know who we are",
        Code::PermissionDenied => "does not allow this user these keys",
        _ => "refuses it",
    };
    Error::Failed { reason: format!("etcd at {endpoint} {reason} ({})", status.message()), source: None }
}
