//! What may be done with a logical cloud in each state.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::state::{LifeCycle, State, Work};

/// Something that may be done with a logical cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Bring the documents, as they are, to the clusters.
    Apply,
    /// The same, only if the cloud is on clusters.
    Update,
    /// Take it off its clusters.
    Terminate,
    /// Pause what is under way.
    Stop,
    /// Go on with what was paused.
    Resume,
    /// Remove its documents.
    Delete,
    /// Change its documents.
    Edit,
    /// Add a cluster reference.
    AddReference,
    /// Remove a cluster reference.
    RemoveReference,
}

/// How an operation is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    /// It begins.
    Begin,
    /// It begins and takes the place of what is under way. A dialect may refuse this.
    Replace(Work),
    /// What it asks for holds already, or is under way: nothing is to be done.
    AlreadySo,
}

/// An operation that a logical cloud's state does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("can't {operation} a logical cloud that is {state}: {reason}")]
pub struct Refused {
    /// What was to be done.
    pub operation: Operation,
    /// The state.
    pub state: State,
    /// Why not.
    pub reason: Reason,
}

/// Why a state does not allow an operation, and what to do instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// It was never applied.
    #[error("it was never applied and is on no cluster; apply or delete it")]
    NeverApplied,
    /// It has no cluster.
    #[error("it has no cluster reference; add one first")]
    NoClusters,
    /// It is being taken off its clusters.
    #[error("it is being terminated; wait, or stop it and apply it again")]
    BeingTerminated,
    /// It is on no cluster any more.
    #[error("it was terminated and is on no cluster; apply it again")]
    OffClusters,
    /// Other work is under way or paused.
    #[error("other work is under way or paused; wait until it is done, or resume it and wait")]
    UnderWay,
    /// Nothing is under way that could be paused.
    #[error("nothing is under way")]
    NothingUnderWay,
    /// It is, or may be, on clusters.
    #[error("it is on clusters; terminate it first")]
    OnClusters,
    /// Some of it could not be taken off.
    #[error("some of it is still on clusters; mend what its status names, or terminate it again")]
    LeftOnClusters,
}

impl LifeCycle {
    /// Whether an operation may be done now.
    ///
    /// # Errors
    /// [`Refused`] with the reason.
    pub fn allows(&self, operation: Operation) -> Result<Allowed, Refused> {
        let state = self.state();
        let verdict = match operation {
            Operation::Apply => self.apply(state),
            Operation::Update => self.update(state),
            Operation::Terminate => terminate(state),
            Operation::Stop => stop(state),
            Operation::Resume => resume(state),
            Operation::Delete => delete(state),
            Operation::Edit | Operation::AddReference | Operation::RemoveReference => Ok(Allowed::Begin),
        };
        verdict.map_err(|reason| Refused { operation, state, reason })
    }

    fn apply(&self, state: State) -> Result<Allowed, Reason> {
        match state {
            // Without a cluster, the last ones are left; that is a change, while beginning on none would do nothing.
            State::Created
            | State::Terminated
            | State::Failed(Work::Terminate)
            | State::Stopped(Work::Terminate)
                if self.references == 0 =>
            {
                Err(Reason::NoClusters)
            }
            State::Terminating => Err(Reason::BeingTerminated),
            State::Instantiated | State::Instantiating | State::Updating if !self.edited => {
                Ok(Allowed::AlreadySo)
            }
            State::Instantiating => Ok(Allowed::Replace(Work::Instantiate)),
            State::Updating => Ok(Allowed::Replace(Work::Update)),
            State::Stopped(work) => Ok(Allowed::Replace(work)),
            State::Created | State::Instantiated | State::Terminated | State::Failed(_) => Ok(Allowed::Begin),
        }
    }

    fn update(&self, state: State) -> Result<Allowed, Reason> {
        match state {
            State::Created => Err(Reason::NeverApplied),
            State::Terminated => Err(Reason::OffClusters),
            State::Terminating | State::Stopped(Work::Terminate) | State::Failed(Work::Terminate) => {
                Err(Reason::BeingTerminated)
            }
            State::Instantiating
            | State::Instantiated
            | State::Updating
            | State::Stopped(Work::Instantiate | Work::Update)
            | State::Failed(Work::Instantiate | Work::Update) => self.apply(state),
        }
    }
}

fn terminate(state: State) -> Result<Allowed, Reason> {
    match state {
        State::Created => Err(Reason::NeverApplied),
        State::Terminating | State::Terminated => Ok(Allowed::AlreadySo),
        State::Instantiated | State::Failed(_) => Ok(Allowed::Begin),
        State::Instantiating => Ok(Allowed::Replace(Work::Instantiate)),
        State::Updating => Ok(Allowed::Replace(Work::Update)),
        State::Stopped(work) => Ok(Allowed::Replace(work)),
    }
}

fn stop(state: State) -> Result<Allowed, Reason> {
    match state {
        State::Created => Err(Reason::NeverApplied),
        State::Instantiating | State::Updating | State::Terminating => Ok(Allowed::Begin),
        State::Stopped(_) => Ok(Allowed::AlreadySo),
        State::Instantiated | State::Terminated | State::Failed(_) => Err(Reason::NothingUnderWay),
    }
}

fn resume(state: State) -> Result<Allowed, Reason> {
    match state {
        State::Created => Err(Reason::NeverApplied),
        State::Stopped(_) => Ok(Allowed::Begin),
        State::Instantiating
        | State::Instantiated
        | State::Updating
        | State::Terminating
        | State::Terminated
        | State::Failed(_) => Ok(Allowed::AlreadySo),
    }
}

/// Not after a failed termination: without its documents nobody would know of what is left.
fn delete(state: State) -> Result<Allowed, Reason> {
    match state {
        State::Created | State::Terminated => Ok(Allowed::Begin),
        State::Failed(Work::Terminate) => Err(Reason::LeftOnClusters),
        State::Terminating => Err(Reason::BeingTerminated),
        State::Instantiating
        | State::Instantiated
        | State::Updating
        | State::Stopped(_)
        | State::Failed(Work::Instantiate | Work::Update) => Err(Reason::OnClusters),
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Apply => "apply",
            Self::Update => "update",
            Self::Terminate => "terminate",
            Self::Stop => "stop",
            Self::Resume => "resume",
            Self::Delete => "delete",
            Self::Edit => "edit",
            Self::AddReference => "add a cluster to",
            Self::RemoveReference => "remove a cluster from",
        })
    }
}
