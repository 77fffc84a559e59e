//! Safeguards that are taken away: for each a seed in which that is found.

use dcm_sync::engine::Safeguard;
use dcm_sync::simulation::{Ports, Scenario, engine, engine_without, run};

/// Safeguards, each with a seed that finds its loss.
const FOUND: [(Safeguard, u64); 10] = [
    (Safeguard::UidProof, 100),
    (Safeguard::AdoptedStays, 3),
    (Safeguard::ContentsCounted, 288),
    (Safeguard::KindsNamed, 1),
    (Safeguard::StoredFirst, 98),
    (Safeguard::RecordsReadAgain, 191),
    (Safeguard::StockTaken, 7),
    (Safeguard::OwnerLookedUp, 251),
    (Safeguard::Budget, 15),
    (Safeguard::PauseKept, 244),
];

#[test]
fn the_loss_of_each_safeguard_is_found() {
    for (safeguard, seed) in FOUND {
        let scenario = Scenario::of(seed);
        assert!(run(&scenario, &engine).is_ok(), "{safeguard:?}: seed {seed} has to be good with it");
        let without = move |ports: Ports| engine_without(ports, safeguard);
        assert!(run(&scenario, &without).is_err(), "{safeguard:?}: seed {seed} does not find its loss");
    }
}
