//! What an engine decides, as its events tell it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::audit::Action;
use dcm_core::status::{Cause, LaneState, Reason};
use dcm_sync::engine::{Event, What};

/// A decision of an engine.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decided {
    pub(super) action: Action,
    pub(super) why: String,
    pub(super) detail: String,
}

/// A lane, or with no app context a cluster as a whole.
type Place = (ClusterId, Option<ContextId>);

/// What was seen before of places that something is in the way of.
#[derive(Debug, Default)]
pub(super) struct Seen {
    hindered: BTreeMap<Place, Arc<str>>,
    /// What it halts for, by reason and in words: another halt is another decision.
    halted: BTreeMap<Place, BTreeSet<(Reason, Arc<str>)>>,
}

impl Seen {
    /// What an event says that the engine has decided.
    pub(super) fn decided(&mut self, event: &Event) -> Option<Decided> {
        let place = (event.cluster.clone(), event.context.clone());
        if matches!(event.what, What::Lane(_) | What::Connected) {
            self.halted.remove(&place);
        }
        match &event.what {
            What::Hindered(cause) => self.hindered(place, cause),
            What::Lane(LaneState::Abandoned) => {
                let cause = self.hindered.remove(&place).map(|cause| format!(": {cause}"));
                let why = format!("it was not taken off by its deadline{}", cause.unwrap_or_default());
                Some(Decided { action: Action::Abandon, why, detail: String::new() })
            }
            What::Drifted(Cause { message, object: Some(object), next_try: Some(until), .. }) => {
                let (why, detail) = (format!("{message}; until {until}"), object.to_string());
                Some(Decided { action: Action::GiveUpContest, why, detail })
            }
            What::TakenOver => {
                let why = "its worker gave no sign of life for the length of its lease".to_owned();
                Some(Decided { action: Action::TakeOver, why, detail: String::new() })
            }
            What::Lane(LaneState::Done | LaneState::Removed) | What::Connected => {
                self.hindered.remove(&place);
                None
            }
            What::Lost => {
                self.hindered.retain(|(cluster, _), _| *cluster != event.cluster);
                self.halted.retain(|(cluster, _), _| *cluster != event.cluster);
                None
            }
            _ => None,
        }
    }

    /// A cluster that is another one is told for all its lanes at once.
    fn hindered(&mut self, place: Place, cause: &Cause) -> Option<Decided> {
        let is_halt = match cause.reason {
            Reason::StoreBehind | Reason::PlanStale => true,
            Reason::ClusterChanged | Reason::SameCluster => place.1.is_none(),
            _ => false,
        };
        self.hindered.insert(place.clone(), cause.message.clone());
        // Members of a project read what is about a lane.
        let why = if place.1.is_none() { cause.whole() } else { &cause.message };
        let halt = (cause.reason, why.clone());
        let is_new = is_halt && self.halted.entry(place).or_default().insert(halt);
        let halt = || Decided { action: Action::Halt, why: why.to_string(), detail: String::new() };
        is_new.then(halt)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn decided(seen: &mut Seen, what: What) -> Option<Action> {
        let cluster = "p/c".parse().unwrap();
        let event = Event { sequence: 1, at: Timestamp::UNIX_EPOCH, cluster, context: None, what };
        seen.decided(&event).map(|decided| decided.action)
    }

    #[test]
    fn a_take_over_is_a_decision_and_taking_what_was_free_is_none() {
        let mut seen = Seen::default();
        assert_eq!(decided(&mut seen, What::Acquired), None);
        assert_eq!(decided(&mut seen, What::TakenOver), Some(Action::TakeOver));
    }

    fn halt(reason: Reason, message: &str) -> What {
        What::Hindered(Cause::new(reason, message))
    }

    fn stale() -> What {
        halt(Reason::PlanStale, "it is not as it was")
    }

    #[test]
    fn a_halt_is_one_decision_until_the_lane_is_in_another_state() {
        for state in LaneState::ALL.into_iter().filter(|state| *state != LaneState::Abandoned) {
            let mut seen = Seen::default();
            assert_eq!(decided(&mut seen, stale()), Some(Action::Halt));
            assert_eq!(decided(&mut seen, stale()), None);
            assert_eq!(decided(&mut seen, What::Lane(state)), None);
            assert_eq!(decided(&mut seen, stale()), Some(Action::Halt), "{state:?}");
        }
    }

    #[test]
    fn a_halt_for_another_reason_or_in_other_words_is_another_decision() {
        let mut seen = Seen::default();
        let behind =
            |generation: u8| halt(Reason::StoreBehind, &format!("generation {generation} was there"));
        assert_eq!(decided(&mut seen, stale()), Some(Action::Halt));
        for generation in [2, 3] {
            assert_eq!(decided(&mut seen, behind(generation)), Some(Action::Halt));
        }
        for again in [stale(), behind(2), behind(3)] {
            assert_eq!(decided(&mut seen, again), None);
        }
    }
}
