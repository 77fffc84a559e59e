//! What a desired state is bound to.

use std::collections::BTreeMap;
use std::sync::Arc;

use dcm_core::name::ClusterId;
use dcm_core::port::synchronizer::Condition;
use serde::{Deserialize, Serialize};

/// In which state clusters were when a desired state was planned: nothing is written to one that is in another one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Planned {
    /// Counts what was planned, so that a lane can say that it is done with this.
    pub number: u64,
    /// By cluster, [`Observed::state`](dcm_core::plan::Observed::state).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub clusters: BTreeMap<ClusterId, Arc<str>>,
}

impl Planned {
    /// What another desired state is bound to.
    pub(crate) fn next(&self, condition: &Condition) -> Self {
        match condition {
            Condition::Always | Condition::Withdraw => self.none(),
            Condition::AsBefore => self.clone(),
            Condition::AsPlanned(planned) => {
                Self { number: self.number + 1, clusters: planned.observed.clone() }
            }
        }
    }

    /// What the same is bound to that is asked for again. Whoever finishes what was handed over already changes nothing:
    /// lanes may have begun.
    pub(crate) fn again(&self, condition: &Condition) -> Self {
        match condition {
            Condition::AsPlanned(planned) if planned.observed == self.clusters => self.clone(),
            other => self.next(other),
        }
    }

    /// Bound to nothing any more.
    pub(crate) fn none(&self) -> Self {
        Self { number: self.number, clusters: BTreeMap::new() }
    }

    /// True while nothing was ever planned.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dcm_core::app_context::Generation;
    use dcm_core::hash::ContentHash;
    use dcm_core::port::synchronizer::PlannedState;

    fn as_planned(state: &str) -> Condition {
        let observed = BTreeMap::from([(ClusterId::new("sim", "c1").unwrap(), state.into())]);
        let wanted = ContentHash::of_bytes(b"wanted");
        Condition::AsPlanned(PlannedState { generation: Generation(1), wanted, observed })
    }

    #[test]
    fn each_plan_has_a_number_of_its_own_but_for_one_that_is_handed_over_again() {
        let first = Planned::default().next(&as_planned("a"));
        assert_eq!((first.number, first.clusters.len()), (1, 1));
        assert_eq!(first.again(&as_planned("a")), first);
        assert_eq!(first.again(&as_planned("b")).number, 2);
        assert_eq!(
            first.next(&as_planned("a")).number,
            2,
            "the state is the same, and what is wanted is not"
        );
    }

    #[test]
    fn newer_credentials_are_bound_as_what_was_before_and_who_applies_without_a_plan_is_bound_to_nothing() {
        let first = Planned::default().next(&as_planned("a"));
        assert_eq!(first.next(&Condition::AsBefore), first);
        let free = first.next(&Condition::Always);
        assert!(free.clusters.is_empty());
        assert_eq!(free.next(&as_planned("a")).number, 2, "lanes that saw the first one have not seen this");
    }
}
