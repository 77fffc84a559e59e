//! Many seeds of the whole simulation. Any number of others:
//! `cargo run --release -p dcm-sync --features sim --bin simulate -- --seeds 20000`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use dcm_sync::simulation::{Scenario, engine, run};

/// How many seeds are run here.
const SEEDS: u64 = 500;

#[test]
fn no_seed_violates_a_rule() {
    let (next, found) = (AtomicU64::new(1), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed > SEEDS {
                return;
            }
            if let Err(violation) = run(&Scenario::of(seed), &engine) {
                found.lock().unwrap().push(format!("seed {seed}: {violation}"));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_seed_repeats_all_that_happens() {
    let told = |seed| {
        let mut lines = Vec::new();
        let told = &mut |told: dcm_sync::simulation::Told<'_>| lines.push(told.to_string());
        dcm_sync::simulation::run_telling(&Scenario::of(seed), &engine, told).unwrap();
        lines
    };
    for seed in [3, 12, 45] {
        assert_eq!(told(seed), told(seed), "seed {seed}");
    }
}
