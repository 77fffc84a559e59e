//! Many seeds beside each other.

use std::any::Any;
use std::fmt;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use jiff::Timestamp;

use super::judge::Violation;
use super::run::Summary;
use super::scenario::Scenario;
use super::shrink::shrink;

/// Seeds that are played one after the other, some at once.
#[derive(Debug, Clone, Copy)]
pub struct Sweep {
    /// What a seed stands for.
    pub scenario: fn(u64) -> Scenario,
    /// The first of them.
    pub first_seed: u64,
    /// How many.
    pub seeds: u64,
    /// How many at once; none: one a processor.
    pub jobs: Option<NonZeroUsize>,
    /// Makes a scenario shorter that violates a rule.
    pub shrinks: bool,
}

/// A seed that violates a rule.
#[derive(Debug, Clone)]
pub struct Found {
    /// The seed.
    pub seed: u64,
    /// What happened.
    pub violation: Violation,
    /// What has to happen for that, as far as it was made shorter.
    pub scenario: Scenario,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.violation)?;
        let text = serde_json::to_string(&self.scenario).map_err(|_| fmt::Error)?;
        write!(f, "  to replay ({} acts): {text}", self.scenario.acts.len())
    }
}

/// Plays a scenario. A panic violates a rule, too: other seeds go on, and this one is told. Nobody knows at which time it was:
/// it is told as the beginning of all time.
///
/// # Errors
/// The first [`Violation`].
pub fn play_catching(
    scenario: &Scenario,
    play: impl FnOnce(&Scenario) -> Result<Summary, Violation>,
) -> Result<Summary, Violation> {
    // Whatever a panic leaves half done is thrown away with the whole world.
    catch_unwind(AssertUnwindSafe(|| play(scenario))).unwrap_or_else(|panic| {
        let (at, details) = (Timestamp::UNIX_EPOCH, words(&*panic).to_owned());
        Err(Violation { invariant: "nobody panics", at, details })
    })
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("it did not say why")
}

impl Sweep {
    /// Seeds from 1 on, one a processor, made shorter.
    #[must_use]
    pub fn of(seeds: u64) -> Self {
        Self { scenario: Scenario::of, first_seed: 1, seeds, jobs: None, shrinks: true }
    }

    /// Plays all of them. What is found is told as soon as it is, and given in the order of the seeds.
    pub fn run(
        &self,
        play: impl Fn(&Scenario) -> Result<Summary, Violation> + Sync,
        told: impl FnMut(&Found) + Send,
    ) -> Vec<Found> {
        let processors = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let jobs = self.jobs.unwrap_or_else(processors).get();
        let (next, found) = (AtomicU64::new(0), Mutex::new((Vec::new(), told)));
        let work = || {
            loop {
                let count = next.fetch_add(1, Ordering::Relaxed);
                if count >= self.seeds {
                    return;
                }
                if let Some(violation) = self.play_one(self.first_seed.wrapping_add(count), &play) {
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    let (all, told) = &mut *found;
                    told(&violation);
                    all.push(violation);
                }
            }
        };
        thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
        let (mut found, _) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_by_key(|found| found.seed);
        found
    }

    fn play_one(&self, seed: u64, play: &impl Fn(&Scenario) -> Result<Summary, Violation>) -> Option<Found> {
        let scenario = (self.scenario)(seed);
        let violation = play_catching(&scenario, play).err()?;
        let scenario = if self.shrinks { shrink(&scenario, &violation, play) } else { scenario };
        Some(Found { seed, violation, scenario })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Ports, run};
    use futures::FutureExt as _;
    use futures::future::BoxFuture;
    use std::time::Duration;

    /// A program that panics once it has waited for a while.
    fn panics(ports: Ports) -> BoxFuture<'static, ()> {
        async move {
            ports.clock.sleep(Duration::from_secs(1)).await;
            panic!("after {} s", 1);
        }
        .boxed()
    }

    #[test]
    fn a_panic_is_told_with_its_seed_and_the_other_seeds_go_on() {
        let found = Sweep { shrinks: false, ..Sweep::of(3) }.run(|scenario| run(scenario, &panics), |_| ());
        let told: Vec<_> = found
            .iter()
            .map(|found| (found.seed, found.violation.invariant, &*found.violation.details))
            .collect();
        assert_eq!(told, [1, 2, 3].map(|seed| (seed, "nobody panics", "after 1 s")));
    }

    #[test]
    fn what_panics_is_made_shorter_too() {
        let [found] = &Sweep::of(1).run(|scenario| run(scenario, &panics), |_| ())[..] else { panic!() };
        assert_eq!(found.scenario.acts, []);
    }

    #[test]
    fn each_seed_is_played_once_and_those_that_violate_a_rule_are_told() {
        let played = Mutex::new(Vec::new());
        let play = |scenario: &Scenario| {
            played.lock().unwrap().push(scenario.seed);
            if scenario.seed.is_multiple_of(10) {
                return Err(Violation {
                    invariant: "no tens",
                    at: Timestamp::UNIX_EPOCH,
                    details: String::new(),
                });
            }
            Ok(Summary { steps: 1, lasted: Duration::ZERO })
        };
        let mut told = Vec::new();
        let sweep = Sweep { first_seed: 5, shrinks: false, ..Sweep::of(30) };
        let found: Vec<u64> =
            sweep.run(play, |found| told.push(found.seed)).iter().map(|found| found.seed).collect();
        told.sort_unstable();
        let mut played = played.into_inner().unwrap();
        played.sort_unstable();
        assert_eq!(played, Vec::from_iter(5..35));
        assert_eq!((found, told), (vec![10, 20, 30], vec![10, 20, 30]));
    }
}
