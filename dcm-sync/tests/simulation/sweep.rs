//! Many seeds of the whole simulation. Any number of others:
//! `cargo run --release -p dcm-sync --features sim --bin simulate -- --seeds 20000`, and with `--storm` those in which workers
//! share 300 clusters and die one after the other.

use dcm_sync::simulation::{Scenario, Sweep, engine, run, run_telling};

/// How many seeds are run here.
const SEEDS: u64 = 500;

#[test]
fn no_seed_violates_a_rule() {
    let found = Sweep::of(SEEDS).run(|scenario| run(scenario, &engine), |found| eprintln!("{found}"));
    assert!(found.is_empty(), "{} of {SEEDS} seeds violate a rule", found.len());
}

/// How many storms: each takes as long as hundreds of other seeds.
const STORMS: u64 = 2;

#[test]
fn workers_that_die_every_second_leave_300_clusters_as_they_are_wanted() {
    let storms = Sweep { scenario: Scenario::storm, shrinks: false, ..Sweep::of(STORMS) };
    let found = storms.run(|scenario| run(scenario, &engine), |found| eprintln!("{found}"));
    assert!(found.is_empty(), "{} of {STORMS} storms violate a rule", found.len());
}

#[test]
fn a_seed_repeats_all_that_happens() {
    let told = |seed| {
        let mut lines = Vec::new();
        let told = &mut |told: dcm_sync::simulation::Told<'_>| lines.push(told.to_string());
        run_telling(&Scenario::of(seed), &engine, told).unwrap();
        lines
    };
    for seed in [3, 12, 45] {
        assert_eq!(told(seed), told(seed), "seed {seed}");
    }
}
