//! Logical clouds under simulation: people use the services, and die while they do; all else is as in the simulation of the
//! engine. More seeds: `SEEDS=20000 cargo test --release -p dcm-server --test simulation`; one of them, with all that happens:
//! `FIRST_SEED=7 SEEDS=1 TRACE=1 cargo test -p dcm-server --test simulation -- --nocapture`.
#![allow(clippy::unwrap_used)]

mod services;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use dcm_sync::simulation::{Scenario, run_through};

use services::{Services, worker};

/// How many seeds are run when nobody says otherwise.
const SEEDS: u64 = 150;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}

#[test]
fn no_seed_violates_a_rule() {
    let first = number("FIRST_SEED").unwrap_or(1);
    let end = first + number("SEEDS").unwrap_or(SEEDS);
    let (next, found) = (AtomicU64::new(first), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                return;
            }
            let tells = number("TRACE").is_some();
            let told = &mut |told: dcm_sync::simulation::Told<'_>| {
                if tells {
                    println!("{told}");
                }
            };
            if let Err(violation) = run_through(&Services, &Scenario::of(seed), &worker, told) {
                eprintln!("seed {seed}: {violation}");
                found.lock().unwrap().push(seed);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "seeds {found:?}");
}
