//! The suite of a store's contract holds it rule by rule.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::fs;

use dcm_policy::root;

/// The names of the contract's rules, each of which begins a point of a list in its module's documentation.
fn rules(contract: &str) -> Vec<&str> {
    let points = contract.lines().filter_map(|line| line.strip_prefix("//! - **"));
    points.filter_map(|point| point.split_once("**")).map(|(name, _)| name.trim_end_matches(':')).collect()
}

/// Under which names the suite has tests.
fn sections(suite: &str) -> Vec<&str> {
    let lines =
        suite.lines().map(str::trim).skip_while(|line| !line.starts_with("$crate::conformance!(@rules"));
    let within = lines.take_while(|line| *line != ");");
    let within: Vec<&str> = within.skip(1).collect();
    let is_name = |line: &str| line.starts_with("// ");
    let with_tests = within.windows(2).filter(|two| is_name(two[0]) && !is_name(two[1]));
    with_tests.map(|two| two[0].trim_start_matches("// ").trim_end_matches('.')).collect()
}

#[test]
fn each_rule_of_the_contract_of_stores_has_tests_under_its_name() {
    let read = |file: &str| fs::read_to_string(root().join(file)).unwrap();
    let (contract, suite) = (read("dcm-core/src/port/store.rs"), read("dcm-store/src/conformance/mod.rs"));
    let rules = rules(&contract);
    assert!(rules.contains(&"Versions") && rules.contains(&"Limits"), "{rules:?}");
    assert_eq!(sections(&suite), rules);
}
