//! Safeguards that are taken away: for each a seed in which that is found.

use dcm_sync::engine::Safeguard;
use dcm_sync::simulation::{Ports, Scenario, engine, engine_without, run};

/// A safeguard, and a seed that finds its loss.
const FOUND: [(Safeguard, u64); 1] = [(Safeguard::KindsNamed, 1)];

#[test]
fn the_loss_of_each_safeguard_is_found() {
    for (safeguard, seed) in FOUND {
        let scenario = Scenario::of(seed);
        assert!(run(&scenario, &engine).is_ok(), "{safeguard:?}: seed {seed} has to be good with it");
        let without = move |ports: Ports| engine_without(ports, safeguard);
        assert!(run(&scenario, &without).is_err(), "{safeguard:?}: seed {seed} does not find its loss");
    }
}
