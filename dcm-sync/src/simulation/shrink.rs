//! Making a scenario shorter that violates a rule, while it goes on violating the same one.

use std::time::Duration;

use super::Program;
use super::judge::Violation;
use super::run::run;
use super::scenario::Scenario;
use super::store::StoreFaults;
use super::time::Skew;
use crate::sim::{Faults, Latency};

/// Most runs that a shrinking takes.
const RUNS_MAX: u32 = 400;

/// Makes a scenario simpler in one way; the argument is as it is.
type Simplify = fn(&mut Scenario);

/// What may be left out beside what happens, the coarsest first.
const SIMPLER: [Simplify; 16] = [
    |scenario| scenario.faults = Faults::NONE,
    |scenario| scenario.store_faults = StoreFaults::default(),
    |scenario| scenario.workers = vec![Skew::default()],
    |scenario| scenario.workers.iter_mut().for_each(|skew| *skew = Skew::default()),
    |scenario| scenario.latency = Latency::fixed(Duration::from_millis(10)),
    |scenario| scenario.atomic_batches = true,
    |scenario| scenario.faults.lost_request = 0,
    |scenario| scenario.faults.lost_reply = 0,
    |scenario| scenario.faults.duplicated = 0,
    |scenario| scenario.faults.delayed = 0,
    |scenario| (scenario.faults.unauthorized, scenario.faults.forbidden) = (0, 0),
    |scenario| (scenario.faults.conflict, scenario.faults.too_many_requests) = (0, 0),
    |scenario| scenario.faults.server_error = 0,
    |scenario| scenario.faults.watch_broken = 0,
    |scenario| scenario.faults.watch_lag_max = Duration::ZERO,
    |scenario| (scenario.store_faults.watch_lost, scenario.store_faults.cut_batch) = (0, 0),
];

struct Shrinking<'a> {
    program: &'a dyn Program,
    invariant: &'static str,
    best: Scenario,
    runs: u32,
}

/// A shorter scenario that violates the same rule; the same one when there is none.
#[must_use]
pub fn shrink(scenario: &Scenario, program: &dyn Program, violation: &Violation) -> Scenario {
    let (best, invariant) = (scenario.clone(), violation.invariant);
    let mut shrinking = Shrinking { program, invariant, best, runs: 0 };
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
        let is_so = run(&scenario, self.program).is_err_and(|found| found.invariant == self.invariant);
        if is_so {
            self.best = scenario;
        }
        is_so
    }

    fn simplify(&mut self) {
        for simpler in SIMPLER {
            let mut scenario = self.best.clone();
            simpler(&mut scenario);
            self.try_this(scenario);
        }
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
