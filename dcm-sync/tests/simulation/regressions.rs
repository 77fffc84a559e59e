//! Scenarios that once violated a rule, as they were made shorter. Each file is named after what went wrong; `simulate
//! --replay FILE --trace` shows it again.

use dcm_sync::simulation::{Scenario, engine, run};

/// What a scenario is called, and what it is.
const SCENARIOS: [(&str, &str); 26] = [
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
    (
        "an earlier context of the same name dropped the claims of the later one",
        include_str!("scenarios/forgotten-and-made-anew.json"),
    ),
    (
        "an object that was made anew was taken for another one",
        include_str!("scenarios/made-anew-unrecorded.json"),
    ),
    (
        "lanes that were still being removed were dropped by an apply",
        include_str!("scenarios/applied-while-forgotten.json"),
    ),
    (
        "a namespace without our labels went, and nobody told",
        include_str!("scenarios/unmarked-while-stopped.json"),
    ),
    (
        "a dead worker's record came late over a lane that rested",
        include_str!("scenarios/stored-after-a-take-over.json"),
    ),
    (
        "a dead worker's result came late, after it had been dropped",
        include_str!("scenarios/dropped-and-stored-late.json"),
    ),
    ("a late apply took the claim of a later one back", include_str!("scenarios/applied-late.json")),
    (
        "who forgot a context that was marked already waited for workers that had told it before",
        include_str!("scenarios/marked-and-not-forgotten.json"),
    ),
    (
        "a context that could not be read was taken as read",
        include_str!("scenarios/store-down-while-in-doubt.json"),
    ),
    (
        "a lane that was taken over was left when its context was forgotten",
        include_str!("scenarios/taken-over-while-forgotten.json"),
    ),
    (
        "what was stored for an earlier lane was taken as the record of the later one",
        include_str!("scenarios/stored-for-an-earlier-life.json"),
    ),
    (
        "what went with its namespace was taken as there, as the watch had not told it yet",
        include_str!("scenarios/gone-before-it-was-told.json"),
    ),
    (
        "what was taken over in the place of an adopted object was not known as ours",
        include_str!("scenarios/taken-over-in-its-place.json"),
    ),
    (
        "a request was answered when another bundle had taken the place of its own, and its result was dropped",
        include_str!("scenarios/answered-after-a-change.json"),
    ),
    (
        "what a list did not show was called done, as the look at it failed",
        include_str!("scenarios/missed-while-a-look-failed.json"),
    ),
    (
        "a record came late of a cluster that had been taken over twice",
        include_str!("scenarios/taken-over-twice-at-once.json"),
    ),
    (
        "a token was asked for once more while the request before it was under way on a connection that had been given up",
        include_str!("scenarios/token-asked-for-twice.json"),
    ),
    (
        "a plan did not show what was deleted, as its kind was listed for somebody else",
        include_str!("scenarios/planned-beside-another-kind.json"),
    ),
    (
        "an account that was asked for a token was no longer held against its plan",
        include_str!("scenarios/changed-after-a-token.json"),
    ),
    (
        "a worker was read after its session was reported to have ended",
        include_str!("scenarios/read-after-its-end.json"),
    ),
    (
        "a late watch told an earlier state of what had been read, and the lane was done",
        include_str!("scenarios/read-and-told-late.json"),
    ),
    (
        "an object of a kind that is served again was seen and not seen, and its lane was planned for ever",
        include_str!("scenarios/made-of-a-kind-that-is-served-again.json"),
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
