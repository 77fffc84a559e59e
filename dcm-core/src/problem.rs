//! The kinds of problems that a server tells and its clients tell apart, by one name each.

use std::fmt;
use std::str::FromStr;

/// Defines the kinds, each with its name: there is no other list of them.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// What kind of problem it is. `GET /problems` of a server says of each when it comes and what helps.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// All of them, by their statuses.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$kind),*];

            /// The last segment of its type, such as `not-found`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// The request can't be read.
    Malformed = "malformed",
    /// The logical cloud has several users, and none is named.
    UserNotNamed = "user-not-named",
    /// The request has no credential, or one that is not accepted.
    Unauthenticated = "unauthenticated",
    /// The caller may not do it.
    Forbidden = "forbidden",
    /// There is no such thing.
    NotFound = "not-found",
    /// There is such a path, and it does not take this method.
    MethodNotAllowed = "method-not-allowed",
    /// The body took too long.
    BodyTimeout = "body-timeout",
    /// There is such a thing already.
    AlreadyThere = "already-there",
    /// The name in the body is not the one in the path.
    NameMismatch = "name-mismatch",
    /// Its state does not allow it.
    WrongState = "wrong-state",
    /// Somebody else uses it.
    InUse = "in-use",
    /// There is nothing to hand out yet.
    NotIssued = "not-issued",
    /// The cluster can't be asked, or is not ready.
    NotReady = "not-ready",
    /// An apply would do something else than was planned.
    PlanStale = "plan-stale",
    /// It is not as the caller takes it for.
    PreconditionFailed = "precondition-failed",
    /// The body is too large.
    TooLarge = "too-large",
    /// The body is of a type that is not taken.
    UnsupportedMediaType = "unsupported-media-type",
    /// It is for another host than the server.
    Misdirected = "misdirected",
    /// A value breaks a rule.
    Invalid = "invalid",
    /// The caller has asked too often.
    TooManyRequests = "too-many-requests",
    /// Something is broken in the server.
    Internal = "internal",
    /// It may succeed later.
    Unavailable = "unavailable",
}

/// A server of another version tells a kind that is not known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no kind of problem that is known here")]
pub struct UnknownKind;

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
