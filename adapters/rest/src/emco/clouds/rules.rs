//! What EMCO allows in which state of a logical cloud, and what it says where it does not.
//!
//! EMCO tells fewer states than the life cycle has: an update that is under way is an instantiation, and what is paused has failed
//! until it goes on.

use dcm_core::logical_cloud::life_cycle::{Operation, Refused, State, Work};

use crate::emco::problem::Problem;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::emco) enum Asked {
    Instantiate,
    Terminate,
    Update,
    Stop,
    Delete,
    AddReference,
    RemoveReference,
}

/// The state of a logical cloud, as EMCO tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    NeverInstantiated,
    Instantiating,
    Instantiated,
    InstantiateFailed,
    Terminating,
    Terminated,
    TerminateFailed,
}

impl From<State> for Status {
    fn from(state: State) -> Self {
        match state {
            State::Created => Self::NeverInstantiated,
            State::Instantiating | State::Updating => Self::Instantiating,
            State::Instantiated => Self::Instantiated,
            State::Stopped(Work::Terminate) | State::Failed(Work::Terminate) => Self::TerminateFailed,
            State::Stopped(_) | State::Failed(_) => Self::InstantiateFailed,
            State::Terminating => Self::Terminating,
            State::Terminated => Self::Terminated,
        }
    }
}

/// What EMCO calls a state; none before anything was brought to a cluster.
pub(in crate::emco) fn deployed_status(state: State) -> Option<&'static str> {
    match Status::from(state) {
        Status::NeverInstantiated => None,
        Status::Instantiating => Some("Instantiating"),
        Status::Instantiated => Some("Instantiated"),
        Status::InstantiateFailed => Some("InstantiateFailed"),
        Status::Terminating => Some("Terminating"),
        Status::Terminated => Some("Terminated"),
        Status::TerminateFailed => Some("TerminateFailed"),
    }
}

/// Refuses what EMCO does not allow in a state.
pub(in crate::emco) fn check(asked: Asked, state: State) -> Result<(), Problem> {
    match asked {
        Asked::Stop => stop(state),
        Asked::Update => told(update(state)),
        Asked::Instantiate => told(instantiate(state.into())),
        Asked::Terminate => told(terminate(state.into())),
        Asked::Delete => told(delete(state.into())),
        Asked::AddReference => told(add_reference(state.into())),
        Asked::RemoveReference => told(remove_reference(state.into())),
    }
}

/// What the life cycle refused although it was allowed here a moment before.
pub(in crate::emco) fn refused(refused: &Refused) -> Problem {
    let asked = match refused.operation {
        Operation::Apply => Asked::Instantiate,
        Operation::Update => Asked::Update,
        Operation::Terminate => Asked::Terminate,
        Operation::Stop => Asked::Stop,
        Operation::Delete => Asked::Delete,
        Operation::AddReference => Asked::AddReference,
        Operation::RemoveReference => Asked::RemoveReference,
        Operation::Resume | Operation::Edit => return Problem::conflict(refused.to_string()),
    };
    check(asked, refused.state).err().unwrap_or_else(|| Problem::conflict(refused.to_string()))
}

fn told(refusal: Option<&'static str>) -> Result<(), Problem> {
    refusal.map_or(Ok(()), |text| Err(Problem::conflict(text)))
}

fn instantiate(status: Status) -> Option<&'static str> {
    match status {
        Status::NeverInstantiated | Status::Terminated => None,
        Status::Instantiating => Some("The Logical Cloud is already instantiating"),
        Status::Instantiated => Some("The Logical Cloud is already instantiated"),
        Status::InstantiateFailed => {
            Some("The Logical Cloud has failed instantiating before, please terminate and try again")
        }
        Status::Terminating | Status::TerminateFailed => {
            Some("The Logical Cloud can't be re-instantiated yet, it is being terminated")
        }
    }
}

/// What failed is terminated again: nothing of it may be left on a cluster.
fn terminate(status: Status) -> Option<&'static str> {
    match status {
        Status::NeverInstantiated => Some("The Logical Cloud is not instantiated"),
        Status::Instantiated | Status::InstantiateFailed | Status::TerminateFailed => None,
        Status::Instantiating => Some("The Logical Cloud is still instantiating"),
        Status::Terminating => Some("The Logical Cloud is already being terminated"),
        Status::Terminated => Some("The Logical Cloud has already been terminated"),
    }
}

/// What failed may be mended by an update; what is paused is not.
fn update(state: State) -> Option<&'static str> {
    match state {
        State::Instantiated | State::Failed(Work::Instantiate | Work::Update) => None,
        State::Created => Some("The Logical Cloud is not instantiated"),
        State::Instantiating | State::Updating => Some("The Logical Cloud is still instantiating"),
        State::Stopped(Work::Instantiate | Work::Update) => {
            Some("The Logical Cloud has failed instantiating before, please terminate and try again")
        }
        State::Terminating | State::Stopped(Work::Terminate) | State::Failed(Work::Terminate) => {
            Some("The Logical Cloud is already being terminated")
        }
        State::Terminated => Some("The Logical Cloud has already been terminated"),
    }
}

fn stop(state: State) -> Result<(), Problem> {
    match state {
        State::Instantiating | State::Updating | State::Terminating => Ok(()),
        State::Created => Err(Problem::conflict("LogicalCloud has not been asked to instantiate: ")),
        State::Stopped(Work::Terminate) => {
            Err(Problem::conflict("LogicalCloud termination already stopped: "))
        }
        State::Stopped(Work::Instantiate | Work::Update) => {
            Err(Problem::conflict("LogicalCloud instantiation already stopped: "))
        }
        State::Instantiated | State::Terminated | State::Failed(_) => {
            Err(Problem::bad_request("LogicalCloud is in an invalid state: "))
        }
    }
}

/// Not after a failed termination: without its documents nobody would know of what is left.
fn delete(status: Status) -> Option<&'static str> {
    match status {
        Status::NeverInstantiated | Status::Terminated => None,
        Status::Instantiating => Some("The Logical Cloud is instantiating, please wait and then terminate"),
        Status::Instantiated => Some("The Logical Cloud is instantiated, please terminate first"),
        Status::InstantiateFailed => {
            Some("The Logical Cloud has failed instantiating, for safety please terminate and try again")
        }
        Status::Terminating | Status::TerminateFailed => {
            Some("The Logical Cloud can't be deleted yet, it is being terminated")
        }
    }
}

fn add_reference(status: Status) -> Option<&'static str> {
    match status {
        Status::NeverInstantiated | Status::Instantiated | Status::Terminated => None,
        Status::Instantiating | Status::InstantiateFailed | Status::Terminating | Status::TerminateFailed => {
            Some(
                "Cluster References cannot be added/removed unless the Logical Cloud is fully Instantiated or Terminated",
            )
        }
    }
}

fn remove_reference(status: Status) -> Option<&'static str> {
    match status {
        Status::NeverInstantiated | Status::Instantiated | Status::Terminated | Status::TerminateFailed => {
            None
        }
        Status::Instantiating => Some(
            "Can't remove Cluster Reference: the Logical Cloud is instantiating, please wait and then terminate.",
        ),
        Status::InstantiateFailed => Some(
            "Can't remove Cluster Reference: the Logical Cloud has failed instantiating, for safety please terminate and try again",
        ),
        Status::Terminating => Some("Can't remove Cluster Reference: the Logical Cloud is being terminated"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INSTANTIATED: [State; 1] = [State::Instantiated];
    const UNDER_WAY: [State; 2] = [State::Instantiating, State::Updating];
    const FAILED: [State; 4] = [
        State::Failed(Work::Instantiate),
        State::Failed(Work::Update),
        State::Stopped(Work::Instantiate),
        State::Stopped(Work::Update),
    ];
    const NOT_TERMINATED: [State; 2] = [State::Failed(Work::Terminate), State::Stopped(Work::Terminate)];

    /// What each state says: never instantiated, under way, instantiated, failed, terminating, not terminated, terminated; empty
    /// where it is allowed.
    fn says(asked: Asked) -> [String; 7] {
        let all: [&[State]; 7] = [
            &[State::Created],
            &UNDER_WAY,
            &INSTANTIATED,
            &FAILED,
            &[State::Terminating],
            &NOT_TERMINATED,
            &[State::Terminated],
        ];
        all.map(|states| {
            let told = |state: &State| match check(asked, *state) {
                Ok(()) => String::new(),
                Err(problem) => format!("{problem:?}"),
            };
            let first = told(&states[0]);
            assert!(states.iter().all(|state| told(state) == first), "{asked:?} {states:?}");
            first
        })
    }

    fn are_allowed(asked: Asked) -> [bool; 7] {
        says(asked).map(|told| told.is_empty())
    }

    #[test]
    fn each_operation_is_allowed_in_its_states_alone() {
        let (yes, no) = (true, false);
        assert_eq!(are_allowed(Asked::Instantiate), [yes, no, no, no, no, no, yes]);
        assert_eq!(are_allowed(Asked::Terminate), [no, no, yes, yes, no, yes, no]);
        assert_eq!(are_allowed(Asked::Delete), [yes, no, no, no, no, no, yes]);
        assert_eq!(are_allowed(Asked::AddReference), [yes, no, yes, no, no, no, yes]);
        assert_eq!(are_allowed(Asked::RemoveReference), [yes, no, yes, no, no, yes, yes]);
        for state in [State::Instantiated, State::Failed(Work::Update), State::Failed(Work::Instantiate)] {
            assert_eq!(check(Asked::Update, state), Ok(()));
        }
        for state in [UNDER_WAY[0], FAILED[2], FAILED[3], State::Created, State::Terminated] {
            assert!(check(Asked::Update, state).is_err(), "{state}");
        }
    }

    #[test]
    fn what_is_stopped_is_not_stopped_again() {
        for state in [State::Instantiating, State::Updating, State::Terminating] {
            assert_eq!(check(Asked::Stop, state), Ok(()));
        }
        let told = |state| check(Asked::Stop, state).unwrap_err();
        let termination = Problem::conflict("LogicalCloud termination already stopped: ");
        assert_eq!(told(State::Stopped(Work::Terminate)), termination);
        let instantiation = Problem::conflict("LogicalCloud instantiation already stopped: ");
        assert_eq!(told(State::Stopped(Work::Update)), instantiation);
        let nothing = Problem::bad_request("LogicalCloud is in an invalid state: ");
        assert_eq!(told(State::Instantiated), nothing);
    }

    #[test]
    fn what_was_refused_a_moment_later_is_told_in_the_same_words() {
        use dcm_core::logical_cloud::life_cycle::Reason;
        let late = |state| {
            let (operation, reason) = (Operation::Apply, Reason::UnderWay);
            refused(&Refused { operation, state, reason })
        };
        let told = Problem::conflict("The Logical Cloud is already instantiating");
        assert_eq!(late(State::Updating), told);
        assert!(format!("{:?}", late(State::Created)).contains("other work is under way"));
    }
}
