//! Logical clouds under simulation: people use the services, and die while they do; all else is as in the simulation of the
//! engine. More seeds: `DCM_PROVE_CLOUDS=20000 cargo test --release -p dcm-server --test it simulation::`; one of them, with all that
//! happens: `FIRST_SEED=7 DCM_PROVE_CLOUDS=1 TRACE=1 cargo test -p dcm-server --test it simulation -- --nocapture`; and what was printed for a seed
//! that violates a rule, from a file: `REPLAY=FILE` in place of the seeds.
#![allow(clippy::unwrap_used)]

mod regressions;
mod services;

use std::env;
use std::io::Write as _;
use std::num::NonZeroUsize;

use dcm_sync::simulation::{Scenario, Summary, Sweep, Told, Violation, run_through};
use dcm_testenv::effort::budget;

use services::{Services, worker};

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|text| text.parse().unwrap())
}

fn play(scenario: &Scenario) -> Result<Summary, Violation> {
    let tells = number("TRACE").is_some();
    let told = &mut |told: Told<'_>| {
        if tells {
            // Nobody may be reading any more.
            let _ = writeln!(std::io::stdout(), "{told}");
        }
    };
    run_through(&Services::default(), scenario, &worker, told)
}

#[test]
fn no_seed_violates_a_rule() {
    if let Some(file) = env::var_os("REPLAY") {
        let scenario = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        play(&scenario).unwrap();
        return;
    }
    let tells = number("TRACE").is_some();
    let sweep = Sweep {
        scenario: Scenario::of,
        first_seed: number("FIRST_SEED").unwrap_or(1),
        seeds: u64::try_from(budget("clouds", 50, 150)).unwrap(),
        jobs: NonZeroUsize::new(usize::from(tells)),
        shrinks: !tells,
    };
    let found = sweep.run(play, |found| eprintln!("{found}"));
    assert!(found.is_empty(), "{} of {} seeds violate a rule", found.len(), sweep.seeds);
}
