//! Runs simulations of the engine, seed by seed.

use std::process::ExitCode;

use dcm_sync::simulation::{self, Scenario};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let first: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let count: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut violations = 0;
    for seed in first..first + count {
        let trace = std::env::var_os("TRACE").is_some();
        let mut told = |told: simulation::Told<'_>| {
            if trace {
                println!("{told}");
            }
        };
        if let Err(violation) = simulation::run_telling(&Scenario::of(seed), &simulation::engine, &mut told) {
            violations += 1;
            println!("seed {seed}: {violation}");
        }
    }
    println!("{count} seeds, {violations} violations");
    if violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
