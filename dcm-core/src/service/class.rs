//! Of what class an error is: decided once, so that whoever tells it, by a status of HTTP or by an exit code, tells the same.

use super::Error;
use crate::port::{store, synchronizer};
use crate::problem;

/// Of what class an error is. A new class is a decision of everybody who tells errors, so none is left to a wildcard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// There is no such thing.
    NotFound,
    /// There is such a thing already, and it is another one.
    AlreadyThere,
    /// It is not what the caller takes it for.
    PreconditionFailed,
    /// What was given breaks a rule.
    Invalid,
    /// There are several users, and none is named.
    UserNotNamed,
    /// Its state does not allow it.
    WrongState,
    /// Somebody uses it, or has it.
    InUse,
    /// The caller may not do it.
    Forbidden,
    /// There is nothing to hand out.
    NotIssued,
    /// An apply would do something else than was planned.
    PlanStale,
    /// The work is paused, and it is not known that nothing is under way.
    StillUnderWay,
    /// It may succeed later.
    Unavailable,
    /// Something is broken.
    Internal,
}

impl Class {
    /// The same where something was done with what is stored: what breaks a rule then is in nothing that the caller has sent, and may
    /// be stored already.
    #[must_use]
    pub fn of_what_is_stored(self) -> Self {
        match self {
            Self::Invalid => Self::WrongState,
            other => other,
        }
    }
}

impl Error {
    /// True if what caused it is for operators alone: a failure of the system, or a rule that a kubeconfig breaks.
    #[must_use]
    pub fn hides_its_source(&self) -> bool {
        matches!(self, Self::Kubeconfig { .. })
            || matches!(self.class(), Class::Internal | Class::Unavailable)
    }

    /// Of what class it is.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::NotFound { .. } => Class::NotFound,
            Self::AlreadyThere { .. } => Class::AlreadyThere,
            Self::PreconditionFailed { .. } => Class::PreconditionFailed,
            Self::Refused(_) | Self::Render(_) => Class::Invalid,
            Self::UserNotNamed { users } if !users.is_empty() => Class::UserNotNamed,
            Self::WrongState(_)
            | Self::NotHandedOver { .. }
            | Self::TerminatedMeanwhile { .. }
            | Self::NotApplied { .. }
            | Self::UserNotNamed { .. }
            | Self::NeedsUser { .. } => Class::WrongState,
            Self::Stale { .. } => Class::PlanStale,
            Self::Forbidden(_) => Class::Forbidden,
            Self::NotEmpty { .. }
            | Self::ClusterInUse { .. }
            | Self::LeftOnCluster { .. }
            | Self::NamespaceTaken { .. } => Class::InUse,
            Self::NotIssued { .. }
            | Self::Certificate { .. }
            | Self::KeepsKey { .. }
            | Self::Kubeconfig { .. }
            | Self::Moved { .. } => Class::NotIssued,
            Self::Synchronizer(source) => source.into(),
            Self::Store(source) | Self::Audit(source) => source.into(),
            Self::Contended { .. } => Class::Unavailable,
            Self::Key { source, .. } if source.is_retryable() => Class::Unavailable,
            Self::Authority { source, .. } if source.is_retryable() => Class::Unavailable,
            Self::Key { .. }
            | Self::Authority { .. }
            | Self::KeyRequest { .. }
            | Self::UnknownSchema { .. }
            | Self::Unreadable { .. }
            | Self::Incomplete { .. } => Class::Internal,
        }
    }
}

impl From<&synchronizer::Error> for Class {
    fn from(error: &synchronizer::Error) -> Self {
        use synchronizer::Error as Failure;
        match error {
            Failure::NotFound { .. } | Failure::NotRemoved { .. } | Failure::Resumed => Self::WrongState,
            Failure::Stale { .. } => Self::PlanStale,
            Failure::NamespaceTaken { .. } | Failure::SameCluster { .. } => Self::InUse,
            Failure::Invalid { .. } => Self::Invalid,
            Failure::StillUnderWay { .. } => Self::StillUnderWay,
            Failure::Contended { .. } => Self::Unavailable,
            Failure::Store(source) => source.into(),
        }
    }
}

/// What a store refuses is larger than it takes: all else is right by then.
impl From<&store::Error> for Class {
    fn from(error: &store::Error) -> Self {
        match error {
            store::Error::Invalid { .. } => Self::Invalid,
            store::Error::Conflict { .. } | store::Error::Unavailable { .. } => Self::Unavailable,
            store::Error::Corrupt { .. } | store::Error::Failed { .. } => Self::Internal,
        }
    }
}

/// What a server tells of an error of a class.
impl From<Class> for problem::Kind {
    fn from(class: Class) -> Self {
        match class {
            Class::NotFound => Self::NotFound,
            Class::AlreadyThere => Self::AlreadyThere,
            Class::PreconditionFailed => Self::PreconditionFailed,
            Class::Invalid => Self::Invalid,
            Class::UserNotNamed => Self::UserNotNamed,
            Class::WrongState => Self::WrongState,
            Class::InUse => Self::InUse,
            Class::Forbidden => Self::Forbidden,
            Class::NotIssued => Self::NotIssued,
            Class::PlanStale => Self::PlanStale,
            Class::StillUnderWay | Class::Unavailable => Self::Unavailable,
            Class::Internal => Self::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_a_port_has_the_class_of_what_happened_there() {
        let too_large = || store::Error::Invalid { reason: "larger than 1 MiB".into() };
        let busy = || store::Error::Unavailable { source: std::sync::Arc::new(std::fmt::Error) };
        let resumed = synchronizer::Error::Resumed;
        for (error, class) in [
            (Error::Store(too_large()), Class::Invalid),
            (Error::Synchronizer(too_large().into()), Class::Invalid),
            (Error::Audit(busy()), Class::Unavailable),
            (Error::Synchronizer(busy().into()), Class::Unavailable),
            (Error::Synchronizer(resumed), Class::WrongState),
        ] {
            assert_eq!(error.class(), class, "{error:?}");
        }
    }

    #[test]
    fn what_breaks_a_rule_and_is_stored_is_nobodys_input() {
        assert_eq!(Class::Invalid.of_what_is_stored(), Class::WrongState);
        assert_eq!(Class::Unavailable.of_what_is_stored(), Class::Unavailable);
    }
}
