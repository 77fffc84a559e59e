//! `simulate`: runs the whole engine in virtual time, seed by seed, and says which seeds violate a rule.
//!
//! ```text
//! cargo run --release -p dcm-sync --features sim --bin simulate -- --seeds 1000
//! ```
//!
//! A seed that violates a rule is made shorter and printed as JSON, to be replayed with `--replay` and kept as a test.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, thread};

use clap::Parser;
use dcm_sync::simulation::{self, Program, Scenario, Violation};

/// Runs the whole engine in virtual time, from one seed after the other.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// How many seeds.
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 1)]
    first_seed: u64,
    /// Runs the scenario of a file instead, as it is printed for a seed that violates a rule.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "first_seed"])]
    replay: Option<PathBuf>,
    /// Tells all that happens; of one seed or a replay.
    #[arg(long)]
    trace: bool,
    /// Prints what violates a rule as it is, not made shorter.
    #[arg(long)]
    no_shrink: bool,
    /// How many seeds run beside each other; default: one a processor.
    #[arg(long)]
    jobs: Option<usize>,
    /// Takes a safeguard of the engine away, and runs until that is found.
    #[cfg(feature = "planted-faults")]
    #[arg(long, value_name = "SAFEGUARD")]
    plant: Option<dcm_sync::engine::Safeguard>,
}

impl Arguments {
    fn program(&self) -> Box<dyn Program> {
        #[cfg(feature = "planted-faults")]
        if let Some(safeguard) = self.plant {
            return Box::new(move |ports| simulation::engine_without(ports, safeguard));
        }
        Box::new(simulation::engine)
    }

    fn jobs(&self) -> usize {
        let processors = || thread::available_parallelism().map_or(1, usize::from);
        if self.trace { 1 } else { self.jobs.unwrap_or_else(processors).max(1) }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            // Nobody may be reading.
            let _ = writeln!(io::stderr(), "simulate: {error}");
            ExitCode::from(2)
        }
    }
}

/// Gives the number of violations.
fn run(arguments: &Arguments) -> io::Result<u64> {
    if let Some(file) = &arguments.replay {
        let scenario = serde_json::from_str(&fs::read_to_string(file)?)?;
        let violations = u64::from(!plays(arguments, &scenario)?);
        writeln!(io::stdout(), "1 seeds, {violations} violations")?;
        return Ok(violations);
    }
    let (next, violations) = (AtomicU64::new(0), AtomicU64::new(0));
    let work = || -> io::Result<()> {
        loop {
            let count = next.fetch_add(1, Ordering::Relaxed);
            if count >= arguments.seeds {
                return Ok(());
            }
            let scenario = Scenario::of(arguments.first_seed.wrapping_add(count));
            if !plays(arguments, &scenario)? {
                violations.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..arguments.jobs()).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|_| Err(io::Error::other("a panic"))))
    })?;
    let (seeds, violations) = (arguments.seeds, violations.into_inner());
    writeln!(io::stdout(), "{seeds} seeds, {violations} violations")?;
    Ok(violations)
}

/// Plays a scenario; false when it violates a rule, which is told.
fn plays(arguments: &Arguments, scenario: &Scenario) -> io::Result<bool> {
    let program = arguments.program();
    let mut told = |told: simulation::Told<'_>| {
        if arguments.trace {
            // Nobody may be reading any more.
            let _ = writeln!(io::stdout(), "{told}");
        }
    };
    let Err(violation) = simulation::run_telling(scenario, &*program, &mut told) else { return Ok(true) };
    tell(arguments, scenario, &*program, &violation)?;
    Ok(false)
}

fn tell(
    arguments: &Arguments,
    scenario: &Scenario,
    program: &dyn Program,
    violation: &Violation,
) -> io::Result<()> {
    let shorter =
        if arguments.no_shrink { scenario.clone() } else { simulation::shrink(scenario, program, violation) };
    let text = serde_json::to_string(&shorter)?;
    let (seed, acts) = (scenario.seed, shorter.acts.len());
    let mut out = io::stdout().lock();
    writeln!(out, "seed {seed}: {violation}")?;
    writeln!(out, "  again: simulate --first-seed {seed} --seeds 1 --trace")?;
    writeln!(out, "  shorter ({acts} acts), for --replay: {text}")
}
