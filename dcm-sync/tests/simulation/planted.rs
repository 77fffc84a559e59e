//! Safeguards that are taken away: for each a seed in which that is found, and by which rule. What a seed does moves with any change of
//! the engine's timing, so the seeds behind it are tried, too. Other seeds that find one:
//! `cargo run --release -p dcm-sync --features planted-faults --bin simulate -- --plant SAFEGUARD --seeds 2000 --no-shrink`.

use std::time::Duration;

use dcm_sync::engine::Safeguard;
use dcm_sync::simulation::{Ports, Scenario, engine, engine_without, run};

/// How many seeds behind the recorded one are tried.
const FURTHER_SEEDS: u64 = 300;

const OURS: &str = "nothing is deleted or changed that we did not make";
const APART: &str = "one cloud's objects change nothing of another";
const RECORDED: &str = "nothing is made without a record";
const TRUE: &str = "a status claims only what is";
const PLANNED: &str = "what is bound to a plan is done as planned";
const WANTED: &str = "in the end all is as wanted";
const ONCE: &str = "what is answered is not asked for again";

/// Safeguards, each with a seed that finds its loss, and the rule that is violated.
const FOUND: [(Safeguard, u64, &str); 28] = [
    (Safeguard::UidProof, 121, OURS),
    (Safeguard::MarksProved, 1, APART),
    (Safeguard::AdoptedStays, 1, OURS),
    (Safeguard::ContentsCounted, 108, "what others put into a namespace is kept"),
    (Safeguard::KindsNamed, 1, RECORDED),
    (Safeguard::StoredFirst, 97, RECORDED),
    (Safeguard::RecordsReadAgain, 158, ONCE),
    (Safeguard::StockTaken, 8, TRUE),
    (Safeguard::OwnerLookedUp, 2507, "an older fence overwrites no newer one"),
    (Safeguard::Budget, 8, "the write budget is kept"),
    (Safeguard::RequestsAwaited, 244, TRUE),
    (Safeguard::TombstoneKept, 8, TRUE),
    (Safeguard::PauseKept, 27, "nothing begins once a stop has returned"),
    (Safeguard::SessionKept, 6089, "nothing begins once a stop has returned"),
    (Safeguard::StateObserved, 165, OURS),
    (Safeguard::DoubtSettled, 684, "what is done is not undone late"),
    (Safeguard::PlanCompared, 19, PLANNED),
    (Safeguard::PlanHeld, 26, PLANNED),
    (Safeguard::ControllersIgnored, 15, "a namespace goes that holds nothing but what controllers wrote"),
    (Safeguard::SeenWhenAsked, 14, "what is reported as applied was seen"),
    (Safeguard::DriftCorrected, 18, WANTED),
    (Safeguard::RequestCompared, 26, "nothing is approved that we did not ask for"),
    (Safeguard::AccountCompared, 229, TRUE),
    (Safeguard::CredentialTried, 47, "no token counts as issued untried"),
    (Safeguard::CredentialsTriedAgain, 32, WANTED),
    (Safeguard::NamesCompared, 48, "no lane takes what another wants"),
    (Safeguard::RightsWithdrawn, 9, "a revocation takes effect whatever is written on objects"),
    (Safeguard::SharedEvenly, 16, WANTED),
];

/// The scenario of a seed. Doubt is about requests that arrive after their senders have given them up: with that safeguard many do, as
/// late as the engine expects it.
fn scenario(safeguard: Safeguard, seed: u64) -> Scenario {
    let mut scenario = Scenario::of(seed);
    if safeguard == Safeguard::DoubtSettled {
        scenario.faults.delayed = 60;
        scenario.faults.delay_max = Duration::from_secs(60);
    }
    scenario
}

/// The first seed that finds the loss of a safeguard by this rule, from a seed on.
fn finding_seed(safeguard: Safeguard, recorded: u64, rule: &str) -> Option<u64> {
    let without = move |ports: Ports| engine_without(ports, safeguard);
    (recorded..=recorded + FURTHER_SEEDS).find(|seed| {
        let found = run(&scenario(safeguard, *seed), &without).err();
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
        let good = run(&scenario(safeguard, seed), &engine).map(drop);
        assert!(good.is_ok(), "{safeguard:?}: seed {seed} has to be good with it: {}", good.unwrap_err());
    }
}
