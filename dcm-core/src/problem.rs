//! The kinds of problems that a server tells and its clients tell apart, by one name each.

use std::fmt;
use std::str::FromStr;

/// What kind of problem it is. `GET /problems` of a server says of each when it comes and what helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The request can't be read.
    Malformed,
    /// The logical cloud has several users, and none is named.
    UserNotNamed,
    /// The request has no credential, or one that is not accepted.
    Unauthenticated,
    /// The caller may not do it.
    Forbidden,
    /// There is no such thing.
    NotFound,
    /// There is such a path, and it does not take this method.
    MethodNotAllowed,
    /// The body took too long.
    BodyTimeout,
    /// There is such a thing already.
    AlreadyThere,
    /// The name in the body is not the one in the path.
    NameMismatch,
    /// Its state does not allow it.
    WrongState,
    /// Somebody else uses it.
    InUse,
    /// There is nothing to hand out yet.
    NotIssued,
    /// The cluster can't be asked, or is not ready.
    NotReady,
    /// An apply would do something else than was planned.
    PlanStale,
    /// It is not as the caller takes it for.
    PreconditionFailed,
    /// The body is too large.
    TooLarge,
    /// The body is of a type that is not taken.
    UnsupportedMediaType,
    /// It is for another host than the server.
    Misdirected,
    /// A value breaks a rule.
    Invalid,
    /// The caller has asked too often.
    TooManyRequests,
    /// Something is broken in the server.
    Internal,
    /// It may succeed later.
    Unavailable,
}

/// A server of another version tells a kind that is not known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no kind of problem that is known here")]
pub struct UnknownKind;

impl Kind {
    /// All of them, by their statuses.
    pub const ALL: [Self; 22] = [
        Self::Malformed,
        Self::UserNotNamed,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::BodyTimeout,
        Self::AlreadyThere,
        Self::NameMismatch,
        Self::WrongState,
        Self::InUse,
        Self::NotIssued,
        Self::NotReady,
        Self::PlanStale,
        Self::PreconditionFailed,
        Self::TooLarge,
        Self::UnsupportedMediaType,
        Self::Misdirected,
        Self::Invalid,
        Self::TooManyRequests,
        Self::Internal,
        Self::Unavailable,
    ];

    /// The last segment of its type, such as `not-found`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::UserNotNamed => "user-not-named",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not-found",
            Self::MethodNotAllowed => "method-not-allowed",
            Self::BodyTimeout => "body-timeout",
            Self::AlreadyThere => "already-there",
            Self::NameMismatch => "name-mismatch",
            Self::WrongState => "wrong-state",
            Self::InUse => "in-use",
            Self::NotIssued => "not-issued",
            Self::NotReady => "not-ready",
            Self::PlanStale => "plan-stale",
            Self::PreconditionFailed => "precondition-failed",
            Self::TooLarge => "too-large",
            Self::UnsupportedMediaType => "unsupported-media-type",
            Self::Misdirected => "misdirected",
            Self::Invalid => "invalid",
            Self::TooManyRequests => "too-many-requests",
            Self::Internal => "internal",
            Self::Unavailable => "unavailable",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or(UnknownKind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_known_by_its_name_alone() {
        for kind in Kind::ALL {
            assert_eq!(kind.to_string().parse::<Kind>(), Ok(kind));
        }
        assert_eq!("of-a-later-version".parse::<Kind>(), Err(UnknownKind));
    }
}
