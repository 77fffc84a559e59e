//! Scenarios that once violated a rule, as they were made shorter. Each file is named after what went wrong; `simulate
//! --replay FILE --trace` shows it again.

use dcm_sync::simulation::{Scenario, engine, run};

/// What a scenario is called, and what it is.
const SCENARIOS: [(&str, &str); 4] = [
    (
        "a lane was removed while it asked for a certificate",
        include_str!("scenarios/removed-while-asking.json"),
    ),
    (
        "a worker stored a lane after its session had ended",
        include_str!("scenarios/suspended-while-storing.json"),
    ),
    (
        "a late object came in the last moment of waiting",
        include_str!("scenarios/late-in-the-last-moment.json"),
    ),
    (
        "somebody restored what we had adopted, with our marks",
        include_str!("scenarios/restored-with-marks.json"),
    ),
];

#[test]
fn what_was_found_once_is_not_found_again() {
    for (name, text) in SCENARIOS {
        let scenario: Scenario = serde_json::from_str(text).unwrap();
        if let Err(violation) = run(&scenario, &engine) {
            panic!("{name}: {violation}");
        }
    }
}
