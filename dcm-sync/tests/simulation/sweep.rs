//! Seeds of the whole simulation: few by default, more with `DCM_PROVE_SIMULATION`. Any number of others:
//! `cargo run --release -p dcm-sync --features sim --bin simulate -- --seeds 20000`, and with `--storm` those in which workers
//! share 300 clusters and die one after the other.

use dcm_sync::simulation::{Scenario, Sweep, engine, engine_comparing_apart, run, run_telling};
use dcm_testenv::effort::{budget, leaves_out};

#[test]
fn no_seed_violates_a_rule() {
    let seeds = budget("simulation", 100, 500);
    let sweep = Sweep::of(u64::try_from(seeds).unwrap());
    let found = sweep.run(|scenario| run(scenario, &engine), |found| eprintln!("{found}"));
    assert!(found.is_empty(), "{} of {seeds} seeds violate a rule", found.len());
}

#[test]
fn no_seed_violates_a_rule_when_objects_are_compared_beside_the_loop() {
    let seeds = budget("simulation", 50, 500);
    let sweep = Sweep::of(u64::try_from(seeds).unwrap());
    let found = sweep.run(|scenario| run(scenario, &engine_comparing_apart), |found| eprintln!("{found}"));
    assert!(found.is_empty(), "{} of {seeds} seeds violate a rule", found.len());
}

/// None by default: each storm takes as long as hundreds of other seeds. `DCM_PROVE_STORMS=2` plays two.
#[test]
fn workers_that_die_every_second_leave_300_clusters_as_they_are_wanted() {
    let storms = budget("storms", 0, 2);
    if storms == 0 {
        leaves_out("storms of deaths over 300 simulated clusters");
        return;
    }
    let sweep = Sweep::of(u64::try_from(storms).unwrap());
    let sweep = Sweep { scenario: Scenario::storm, shrinks: false, ..sweep };
    let found = sweep.run(|scenario| run(scenario, &engine), |found| eprintln!("{found}"));
    assert!(found.is_empty(), "{} of {storms} storms violate a rule", found.len());
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
