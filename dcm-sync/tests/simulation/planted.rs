//! Safeguards that are taken away: for each a seed in which that is found, and by which rule. What a seed does moves with any change of
//! the engine's timing, so the seeds behind it are tried, too; with `DCM_PROVE=all` the seed itself has to find it. Other seeds that find
//! one:
//! `cargo run --release -p dcm-sync --features planted-faults --bin simulate -- --plant SAFEGUARD --seeds 2000 --no-shrink`.

use dcm_sync::engine::Safeguard;
use dcm_sync::simulation::{Ports, Scenario, engine, engine_without, run};
use dcm_testenv::effort::proves_all;

/// How many seeds behind the recorded one are tried.
const FURTHER_SEEDS: u64 = 300;

const RECORDED: &str = "nothing is made without a record";
const TRUE: &str = "a status claims only what is";
const PLANNED: &str = "what is bound to a plan is done as planned";
const WANTED: &str = "in the end all is as wanted";
const ONCE: &str = "what is answered is not asked for again";

/// Safeguards, each with a seed that finds its loss, and the rule that is violated.
const FOUND: [(Safeguard, u64, &str); 21] = [
    (Safeguard::UidProof, 6, "only what we made is deleted"),
    (Safeguard::AdoptedStays, 1, "only what we made is deleted"),
    (Safeguard::ContentsCounted, 108, "what others put into a namespace is kept"),
    (Safeguard::KindsNamed, 1, RECORDED),
    (Safeguard::StoredFirst, 12, RECORDED),
    (Safeguard::RecordsReadAgain, 283, ONCE),
    (Safeguard::StockTaken, 1, TRUE),
    (Safeguard::OwnerLookedUp, 3633, "an older fence overwrites no newer one"),
    (Safeguard::Budget, 8, "the write budget is kept"),
    (Safeguard::RequestsAwaited, 646, TRUE),
    (Safeguard::TombstoneKept, 6, TRUE),
    (Safeguard::PauseKept, 27, "nothing begins once a stop has returned"),
    (Safeguard::SessionKept, 5965, "an older fence overwrites no newer one"),
    (Safeguard::StateObserved, 770, "only what we made is deleted"),
    (Safeguard::DoubtSettled, 1904, "what is done is not undone late"),
    (Safeguard::PlanCompared, 19, PLANNED),
    (Safeguard::PlanHeld, 26, PLANNED),
    (Safeguard::DriftCorrected, 18, WANTED),
    (Safeguard::RequestCompared, 44, "nothing is approved that we did not ask for"),
    (Safeguard::AccountCompared, 383, TRUE),
    (Safeguard::SharedEvenly, 1, WANTED),
];

/// The first seed that finds the loss of a safeguard by this rule, from a seed on.
fn finding_seed(safeguard: Safeguard, recorded: u64, rule: &str) -> Option<u64> {
    let further = if proves_all() { 0 } else { FURTHER_SEEDS };
    let without = move |ports: Ports| engine_without(ports, safeguard);
    (recorded..=recorded + further).find(|seed| {
        let found = run(&Scenario::of(*seed), &without).err();
        found.is_some_and(|violation| violation.invariant == rule)
    })
}

#[test]
fn the_loss_of_each_safeguard_is_found() {
    for (safeguard, recorded, rule) in FOUND {
        let Some(seed) = finding_seed(safeguard, recorded, rule) else {
            panic!("{safeguard:?}: no seed from {recorded} on finds its loss by the rule that {rule}");
        };
        if seed != recorded {
            println!("{safeguard:?}: recorded {recorded}, found by {seed}");
        }
        let good = run(&Scenario::of(seed), &engine).map(drop);
        assert!(good.is_ok(), "{safeguard:?}: seed {seed} has to be good with it: {}", good.unwrap_err());
    }
}
