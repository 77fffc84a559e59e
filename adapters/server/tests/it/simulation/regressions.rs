//! Scenarios that once violated a rule, as they were made shorter. Each file is named after what went wrong; `REPLAY=FILE
//! TRACE=1` shows it again.

use crate::simulation::play;

/// What a scenario is called, and what it is.
const SCENARIOS: [(&str, &str); 5] = [
    (
        "a deletion came late of what the next generation had found as it wanted it",
        include_str!("scenarios/deleted-while-applied-again.json"),
    ),
    (
        "an apply claimed namespaces late, when another one had given all back",
        include_str!("scenarios/claimed-late.json"),
    ),
    (
        "what was kept came back with our marks, on a cluster that lost its last writes",
        include_str!("scenarios/kept-and-restored.json"),
    ),
    (
        "a worker asked for the token of a generation that had been replaced already",
        include_str!("scenarios/asked-for-under-another-name.json"),
    ),
    (
        "results were stored late for a cloud that was forgotten and came back, and stayed for ever",
        include_str!("scenarios/stored-late-and-come-back.json"),
    ),
];

#[test]
fn what_was_found_once_is_not_found_again() {
    for (name, text) in SCENARIOS {
        let scenario = serde_json::from_str(text).unwrap();
        if let Err(violation) = play(&scenario) {
            panic!("{name}: {violation}");
        }
    }
}
