//! Runs each bench at its smallest size, and checks that its figures are numbers. Bounds are for `cargo bench`.
//!
//! The benches start their own program again to measure in a process of its own, so this test is such a program, without the test
//! harness. All benches run side by side, as they wait most of their time.
#![allow(clippy::print_stdout, reason = "a test without a harness prints what passed")]

#[path = "../forged/main.rs"]
mod forged;
#[path = "../instantiate/main.rs"]
mod instantiate;
#[path = "../rest/main.rs"]
mod rest;
#[path = "../store/main.rs"]
mod store;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use dcm_benches::child::CHILD;
use dcm_benches::report::Report;
use dcm_benches::size::Size;
use tokio::join;

/// The name under which a filter of `cargo test` finds this test.
const NAME: &str = "each_bench_gives_figures_at_its_smallest_size";

/// A figure of each part of a bench.
const FORGED: [&str; 4] =
    ["peak_mib_objects", "wall_ratio_pages", "heavy_ratio_roles", "heavy_step_ms_fields"];
const INSTANTIATE: [&str; 4] = ["growth_exponent", "wall_over_floor_20", "noop_writes", "revoked_ms"];
const REST: [&str; 2] = ["memory_put_per_second", "memory_growth_bytes"];
const STORE: [&str; 9] = [
    "memory_status_bytes_1",
    "sqlite_status_bytes_1",
    "etcd_status_bytes_1",
    "mongodb_status_bytes_1",
    "etcd_engines_2_over_1",
    "memory_list_prefix_ms",
    "sqlite_list_prefix_ms",
    "etcd_list_prefix_ms",
    "mongodb_list_prefix_ms",
];

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == CHILD) {
        return match arguments.get(1).map(String::as_str) {
            Some("forged") => forged::main(),
            Some("instantiate") => instantiate::main(),
            Some("rest") => rest::main(),
            Some("store") => store::main(),
            other => bail!("no bench is called {other:?}"),
        };
    }
    if arguments.iter().any(|argument| argument == "--list") {
        println!("{NAME}: test");
        return Ok(());
    }
    // A number is the value of an option, such as that of `--test-threads 4`, and not a filter.
    let mut filters = arguments
        .iter()
        .filter(|argument| !argument.starts_with('-') && argument.parse::<u64>().is_err())
        .peekable();
    if filters.peek().is_some() && !filters.any(|filter| NAME.contains(filter.as_str())) {
        println!("test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out");
        return Ok(());
    }
    let outcome = tokio::runtime::Runtime::new()?.block_on(each_bench());
    let (result, counts) = match outcome {
        Ok(()) => ("ok", "1 passed; 0 failed"),
        Err(_) => ("FAILED", "0 passed; 1 failed"),
    };
    println!("test {NAME} ... {result}\n");
    println!("test result: {result}. {counts}; 0 ignored; 0 measured; 0 filtered out");
    outcome
}

async fn each_bench() -> Result<()> {
    let (forged, instantiate, rest, store) = join!(
        Box::pin(forged::measure(&[], Size::Smallest)),
        Box::pin(instantiate::measure(&[], Size::Smallest)),
        Box::pin(rest::measure(Vec::new(), Size::Smallest)),
        Box::pin(store::measure(&[], Size::Smallest)),
    );
    check("forged", forged, &FORGED)?;
    check("instantiate", instantiate, &INSTANTIATE)?;
    check("rest", rest, &REST)?;
    check("store", store, &STORE)
}

/// Checks that all figures are numbers, and that these are among them.
fn check(bench: &str, report: Result<Report>, keys: &[&str]) -> Result<()> {
    let report = report.with_context(|| bench.to_owned())?;
    println!("{}", report.table());
    let values: BTreeMap<String, f64> = report.values().collect();
    let odd: Vec<_> = values.iter().filter(|(_, value)| !value.is_finite()).collect();
    ensure!(odd.is_empty(), "{bench}: no numbers: {odd:?}");
    let missing: Vec<_> = keys.iter().filter(|key| !values.contains_key(**key)).collect();
    ensure!(missing.is_empty(), "{bench}: no figures: {missing:?}");
    Ok(())
}
