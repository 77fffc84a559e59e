//! Safeguards that are taken away: for each a seed in which that is found.

use dcm_sync::engine::Safeguard;
use dcm_sync::simulation::{Ports, Scenario, engine, engine_without, run};

/// Safeguards, each with a seed that finds its loss.
const FOUND: [(Safeguard, u64); 13] = [
    (Safeguard::UidProof, 6),
    (Safeguard::AdoptedStays, 1),
    (Safeguard::ContentsCounted, 108),
    (Safeguard::KindsNamed, 2),
    (Safeguard::StoredFirst, 137),
    (Safeguard::RecordsReadAgain, 35),
    (Safeguard::StockTaken, 12),
    (Safeguard::OwnerLookedUp, 443),
    (Safeguard::Budget, 8),
    (Safeguard::PendingAwaited, 117),
    (Safeguard::LostAwaited, 267),
    (Safeguard::TombstoneKept, 6),
    (Safeguard::PauseKept, 16),
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
