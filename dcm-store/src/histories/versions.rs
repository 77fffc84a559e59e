//! Versions of a path are used once, and grow.

use super::check::{Rule, Violation};
use super::facts::Facts;

pub(super) fn check(facts: &Facts<'_>) -> Result<(), Violation> {
    for path in &facts.paths {
        let puts = facts.puts_of(path);
        for (place, put) in puts.iter().enumerate() {
            let shown = |other: usize| facts.show([put.call, puts[other].call]);
            if let Some(next) = puts.get(place + 1)
                && next.version == put.version
            {
                let what = format!("two writes of {path} were given one version");
                return Err(Violation::new(Rule::Versions, what, shown(place + 1)));
            }
            // One that has a higher version, and had happened before this one began.
            let is_before = |other: &usize| puts[*other].done_by.is_some_and(|at| at < put.invoked);
            if let Some(other) = (place + 1..puts.len()).find(is_before) {
                let what = format!("a later write of {path} was given a lower version");
                return Err(Violation::new(Rule::Versions, what, shown(other)));
            }
        }
    }
    Ok(())
}
