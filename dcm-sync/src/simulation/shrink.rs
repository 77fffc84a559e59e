//! Making a scenario shorter that violates a rule, while it goes on violating the same one.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::judge::Violation;
use super::run::Summary;
use super::scenario::{Act, Scenario};
use super::store::StoreFaults;
use super::sweep::play_catching;
use super::time::Skew;
use super::wish::Wish;
use crate::sim::{Faults, Latency};

/// Most runs that a shrinking takes.
const RUNS_MAX: u32 = 400;

/// How far away everything is where that does not matter.
const NEAR: Duration = Duration::from_millis(10);

struct Shrinking<'a> {
    play: &'a dyn Fn(&Scenario) -> Result<Summary, Violation>,
    invariant: &'static str,
    best: Scenario,
    runs: u32,
}

/// A shorter scenario that violates the same rule when it is played; the same one when there is none.
#[must_use]
pub fn shrink(
    scenario: &Scenario,
    violation: &Violation,
    play: &dyn Fn(&Scenario) -> Result<Summary, Violation>,
) -> Scenario {
    let (best, invariant) = (scenario.clone(), violation.invariant);
    let mut shrinking = Shrinking { play, invariant, best, runs: 0 };
    shrinking.simplify();
    shrinking.leave_out();
    shrinking.simplify();
    shrinking.best
}

impl Shrinking<'_> {
    /// Takes a scenario in place of the best one, if it is another one and violates the same rule.
    fn try_this(&mut self, scenario: Scenario) -> bool {
        if scenario == self.best || self.runs >= RUNS_MAX {
            return false;
        }
        self.runs += 1;
        let played = play_catching(&scenario, self.play);
        let is_so = played.is_err_and(|found| found.invariant == self.invariant);
        if is_so {
            self.best = scenario;
        }
        is_so
    }

    /// Takes what is simpler in one way as long as there is such.
    fn simplify(&mut self) {
        while simpler(&self.best).into_iter().any(|scenario| self.try_this(scenario)) {}
    }

    /// Leaves out of what happens: halves first, then smaller and smaller parts.
    fn leave_out(&mut self) {
        let mut size = self.best.acts.len().div_ceil(2);
        while size > 0 {
            let mut start = 0;
            while start < self.best.acts.len() {
                let mut scenario = self.best.clone();
                let end = (start + size).min(scenario.acts.len());
                scenario.acts.drain(start..end);
                if !self.try_this(scenario) {
                    start += size;
                }
            }
            size /= 2;
        }
    }
}

/// Scenarios that are simpler than one in one way each, the coarsest first.
fn simpler(of: &Scenario) -> Vec<Scenario> {
    let mut all = vec![
        Scenario { faults: Faults::NONE, ..of.clone() },
        Scenario { store_faults: StoreFaults::default(), ..of.clone() },
        Scenario { workers: vec![Skew::default()], ..of.clone() },
        Scenario { latency: Latency::fixed(NEAR), ..of.clone() },
        Scenario { atomic_batches: true, ..of.clone() },
    ];
    all.extend(without_last_context(of));
    all.extend(members(&of.faults, &Faults::NONE).map(|faults| Scenario { faults, ..of.clone() }));
    let store_faults = members(&of.store_faults, &StoreFaults::default());
    all.extend(store_faults.map(|store_faults| Scenario { store_faults, ..of.clone() }));
    all.extend((0..of.workers.len()).map(|number| {
        let mut scenario = of.clone();
        scenario.workers[number] = Skew::default();
        scenario
    }));
    all.extend((0..of.last_wishes.len()).map(|number| {
        let mut scenario = of.clone();
        scenario.last_wishes[number] = Wish::GONE;
        scenario
    }));
    all.extend((0..of.acts.len()).filter_map(|number| {
        let mut scenario = of.clone();
        let Act::Wish { death, .. } = &mut scenario.acts[number].1 else { return None };
        death.take().map(|_| scenario)
    }));
    all.retain(|scenario| scenario != of);
    all
}

fn without_last_context(of: &Scenario) -> Option<Scenario> {
    let mut scenario = of.clone();
    scenario.contexts = of.contexts.checked_sub(1).filter(|left| *left > 0)?;
    scenario.last_wishes.truncate(scenario.contexts);
    scenario
        .acts
        .retain(|(_, act)| !matches!(act, Act::Wish { context, .. } | Act::Command { context, .. } if *context > scenario.contexts));
    Some(scenario)
}

/// One thing with each of its members as another one has it, as far as they differ.
fn members<T: Serialize + DeserializeOwned>(of: &T, calm: &T) -> impl Iterator<Item = T> + use<T> {
    let as_object = |thing: &T| match serde_json::to_value(thing) {
        Ok(Value::Object(members)) => members,
        _ => serde_json::Map::new(),
    };
    let (members, calm) = (as_object(of), as_object(calm));
    let differing = calm.into_iter().filter({
        let members = members.clone();
        move |(name, value)| members.get(name) != Some(value)
    });
    differing.filter_map(move |(name, value)| {
        let mut members = members.clone();
        members.insert(name, value);
        serde_json::from_value(Value::Object(members)).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    const RULE: &str = "nobody kills a worker while requests are lost";

    /// Plays nothing, and finds a violation where a worker is killed and requests can be lost.
    fn play(scenario: &Scenario) -> Result<Summary, Violation> {
        let kills = scenario.acts.iter().any(|(_, act)| matches!(act, Act::Kill { .. }));
        if kills && scenario.faults.lost_request > 0 {
            return Err(Violation { invariant: RULE, at: Timestamp::UNIX_EPOCH, details: String::new() });
        }
        Ok(Summary { steps: 0, lasted: Duration::ZERO })
    }

    #[test]
    fn what_a_violation_does_not_need_is_left_out() {
        let found = (1..).map(Scenario::of).find_map(|scenario| Some((play(&scenario).err()?, scenario)));
        let (violation, scenario) = found.unwrap();
        let shorter = shrink(&scenario, &violation, &play);
        assert!(matches!(&*shorter.acts, [(_, Act::Kill { .. })]), "{:?}", shorter.acts);
        let lost_request = scenario.faults.lost_request;
        assert_eq!(shorter.faults, Faults { lost_request, ..Faults::NONE });
        assert_eq!(shorter.store_faults, StoreFaults::default());
        assert_eq!((shorter.workers, shorter.contexts), (vec![Skew::default()], 1));
        assert_eq!(shorter.last_wishes, [Wish::GONE]);
        assert!(shorter.atomic_batches);
    }

    #[test]
    fn what_violates_another_rule_is_not_taken() {
        let scenario = Scenario::of(1);
        let other =
            Violation { invariant: "another rule", at: Timestamp::UNIX_EPOCH, details: String::new() };
        assert_eq!(shrink(&scenario, &other, &play), scenario);
    }
}
