//! How the command ends: its exit codes, and which error ends with which.

use std::fmt;
use std::process::ExitCode;

use dcm_client::ProblemKind;
use dcm_core::kubeconfig::MergeError;
use dcm_core::refusal::Refusals;
use dcm_core::service::{Class, Error, OrphanError};

use crate::place;

/// How the command ends. The codes are part of its interface, documented in `dcm --help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// What was asked for is done.
    Done = 0,
    /// Something failed: a store, a cluster, a file, a concurrent change.
    Failed = 1,
    /// An input breaks a rule; nothing was changed.
    Refused = 3,
    /// The time is over and work is left; it goes on, or doesn't, as the message says.
    TimedOut = 4,
    /// Action is required: a conflict, a wrong state, a missing right.
    Stuck = 5,
    /// There is no such thing.
    NotFound = 6,
    /// Done, but for clusters that missed their deadline: they are cleaned up when they return.
    Abandoned = 7,
    /// The plan is stale; no cluster was written to.
    Stale = 8,
    /// It was interrupted; what was accepted stays accepted.
    Interrupted = 130,
}

/// The exit code for an invalid command line, which is also that of the parser of arguments.
pub(crate) const USAGE: u8 = 2;

/// The exit codes in `--help`.
pub(crate) const HELP: &str = "\
Exit codes:

    0  done
    1  something failed: a store, a cluster, a file, a concurrent change
    2  the command line is invalid
    3  a document or kubeconfig breaks a rule; nothing was changed
    4  timed out with work left; a worker (dcm serve), or the same command again, goes on
    5  action required: a conflict, a state that does not allow it, a missing right
    6  not found
    7  done, but for clusters that missed their deadline; they are cleaned up when they return
    8  the plan is stale (--plan-hash): something has changed since; no cluster was written to
  130  interrupted";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An end that is no failure of anything below: it carries its own code.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Ended {
    pub(crate) exit: Exit,
    pub(crate) message: String,
}

impl Ended {
    pub(crate) fn new(exit: Exit, message: impl fmt::Display) -> Self {
        Self { exit, message: message.to_string() }
    }
}

/// The code that an error ends with: that of the outermost cause that has one.
pub(crate) fn code_of(error: &anyhow::Error) -> Exit {
    error.chain().find_map(known).unwrap_or(Exit::Failed)
}

fn known(cause: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    if let Some(ended) = cause.downcast_ref::<Ended>() {
        return Some(ended.exit);
    }
    if cause.is::<Refusals>() || cause.is::<MergeError>() {
        return Some(Exit::Refused);
    }
    match cause.downcast_ref() {
        Some(place::Error::Here(error)) => return code_of_class(error.class()),
        Some(place::Error::StoredAlone(error)) => return code_of_class(error.class().of_what_is_stored()),
        Some(place::Error::There(error)) => return error.problem()?.kind().and_then(code_of_problem),
        Some(place::Error::Stale { .. }) => return Some(Exit::Stale),
        Some(place::Error::StillUnderWay { .. }) => return Some(Exit::TimedOut),
        Some(place::Error::Orphans(OrphanError::Store(error))) => return code_of_class(error.into()),
        Some(place::Error::Kubeconfig(_) | place::Error::Document(_) | place::Error::Orphans(_)) | None => {}
    }
    code_of_class(cause.downcast_ref::<Error>()?.class())
}

/// None for what may succeed when it is tried again, for what is broken, and for kinds of a later version.
fn code_of_problem(kind: ProblemKind) -> Option<Exit> {
    match kind {
        ProblemKind::NotFound => Some(Exit::NotFound),
        ProblemKind::PlanStale => Some(Exit::Stale),
        ProblemKind::Malformed
        | ProblemKind::UserNotNamed
        | ProblemKind::NameMismatch
        | ProblemKind::Invalid
        | ProblemKind::TooLarge
        | ProblemKind::UnsupportedMediaType => Some(Exit::Refused),
        ProblemKind::AlreadyThere
        | ProblemKind::WrongState
        | ProblemKind::InUse
        | ProblemKind::NotIssued
        | ProblemKind::PreconditionFailed
        | ProblemKind::Forbidden
        | ProblemKind::Unauthenticated => Some(Exit::Stuck),
        _ => None,
    }
}

/// None for what may succeed when it is tried again, and for what is broken.
fn code_of_class(class: Class) -> Option<Exit> {
    match class {
        Class::NotFound => Some(Exit::NotFound),
        Class::PlanStale => Some(Exit::Stale),
        Class::StillUnderWay => Some(Exit::TimedOut),
        Class::Invalid | Class::UserNotNamed => Some(Exit::Refused),
        Class::AlreadyThere
        | Class::PreconditionFailed
        | Class::WrongState
        | Class::InUse
        | Class::Forbidden
        | Class::NotIssued => Some(Exit::Stuck),
        Class::Unavailable | Class::Internal => None,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;
    use dcm_core::port::synchronizer::Error as Failure;
    use dcm_server::DeclareError;

    use super::*;

    #[test]
    fn an_error_ends_with_the_code_of_what_caused_it() {
        let ended: anyhow::Result<()> = Err(Ended::new(Exit::TimedOut, "work is left").into());
        assert_eq!(code_of(&ended.context("while applying").unwrap_err()), Exit::TimedOut);
        assert_eq!(code_of(&anyhow::anyhow!("anything")), Exit::Failed);
    }

    #[test]
    fn what_a_service_says_has_a_code_of_its_kind() {
        let missing =
            Error::NotFound { kind: dcm_core::service::Kind::LogicalCloud, name: "c".into(), project: None };
        assert_eq!(code_of(&missing.into()), Exit::NotFound);
        // Nobody has to change anything: the same command may succeed.
        let contended = Error::Contended { kind: dcm_core::service::Kind::LogicalCloud, name: "c".into() };
        assert_eq!(code_of(&contended.into()), Exit::Failed);
        let there = Error::AlreadyThere { kind: dcm_core::service::Kind::Cluster, name: "p/c".into() };
        assert_eq!(code_of(&anyhow::Error::new(there).context("while adding")), Exit::Stuck);
    }

    #[test]
    fn what_breaks_a_rule_is_refused_only_where_nothing_was_stored() {
        let invalid = || Error::Synchronizer(Failure::Invalid { reason: "larger than a document".into() });
        assert_eq!(code_of(&place::Error::Here(invalid()).into()), Exit::Refused);
        assert_eq!(code_of(&place::Error::from(DeclareError::NotApplied(invalid())).into()), Exit::Stuck);
    }

    #[test]
    fn only_what_may_succeed_later_or_is_broken_has_no_code() {
        let without: Vec<_> =
            ProblemKind::ALL.into_iter().filter(|kind| code_of_problem(*kind).is_none()).collect();
        let expected = [
            ProblemKind::MethodNotAllowed,
            ProblemKind::BodyTimeout,
            ProblemKind::NotReady,
            ProblemKind::Misdirected,
            ProblemKind::TooManyRequests,
            ProblemKind::Internal,
            ProblemKind::Unavailable,
        ];
        assert_eq!(without, expected);
    }

    #[test]
    fn the_help_names_every_code() {
        for exit in [
            Exit::Done,
            Exit::Failed,
            Exit::Refused,
            Exit::TimedOut,
            Exit::Stuck,
            Exit::NotFound,
            Exit::Abandoned,
            Exit::Stale,
            Exit::Interrupted,
        ] {
            // 2 is that of the parser of arguments.
            assert!(
                HELP.lines().any(|line| line.trim().starts_with(&format!("{} ", exit as u8))),
                "{exit:?}"
            );
        }
    }
}
