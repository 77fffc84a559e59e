//! `simulate`: runs the whole engine in virtual time, seed by seed, and says which seeds violate a rule.
//!
//! ```text
//! cargo run --release -p dcm-sync --features sim --bin simulate -- --seeds 1000
//! ```
//!
//! With `--storm` a seed stands for 300 clusters that three workers share, one of which dies every second.
//!
//! A seed that violates a rule is made shorter and printed as JSON, to be replayed with `--replay` and kept as a test.

use std::fs;
use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use dcm_sync::simulation::{self, Program, Scenario, Summary, Sweep, Violation};

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
    /// Three workers share 300 clusters, and every second one of them dies and another one starts.
    #[arg(long)]
    storm: bool,
    /// Runs the scenario of a file instead, as it is printed for a seed that violates a rule.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "first_seed", "storm"])]
    replay: Option<PathBuf>,
    /// Tells all that happens; one seed runs at a time.
    #[arg(long)]
    trace: bool,
    /// Prints what violates a rule as it is, not made shorter.
    #[arg(long)]
    no_shrink: bool,
    /// How many seeds run beside each other; default: one a processor.
    #[arg(long)]
    jobs: Option<NonZeroUsize>,
    /// Takes a safeguard of the engine away, to see that its loss is found.
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

    fn sweep(&self) -> Sweep {
        let jobs = if self.trace { Some(NonZeroUsize::MIN) } else { self.jobs };
        // What is told of all runs of a shrinking would hide the one that was asked for.
        let shrinks = !self.no_shrink && !self.trace;
        let scenario = if self.storm { Scenario::storm } else { Scenario::of };
        Sweep { scenario, first_seed: self.first_seed, seeds: self.seeds, jobs, shrinks }
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
fn run(arguments: &Arguments) -> io::Result<usize> {
    let program = arguments.program();
    let play = |scenario: &Scenario| play(arguments, &*program, scenario);
    let (seeds, violations) = match &arguments.replay {
        Some(file) => {
            let scenario = serde_json::from_str(&fs::read_to_string(file)?)?;
            (1, replay(&scenario, play)?)
        }
        None => {
            let sweep = arguments.sweep();
            // Nobody may be reading any more; the last line says so.
            let found = sweep.run(play, |found| drop(writeln!(io::stdout(), "{found}")));
            (arguments.seeds, found.len())
        }
    };
    writeln!(io::stdout(), "{seeds} seeds, {violations} violations")?;
    Ok(violations)
}

fn replay(
    scenario: &Scenario,
    play: impl FnOnce(&Scenario) -> Result<Summary, Violation>,
) -> io::Result<usize> {
    let Err(violation) = simulation::play_catching(scenario, play) else { return Ok(0) };
    writeln!(io::stdout(), "{violation}")?;
    Ok(1)
}

fn play(arguments: &Arguments, program: &dyn Program, scenario: &Scenario) -> Result<Summary, Violation> {
    let mut told = |told: simulation::Told<'_>| {
        if arguments.trace {
            // Nobody may be reading any more.
            let _ = writeln!(io::stdout(), "{told}");
        }
    };
    simulation::run_telling(scenario, program, &mut told)
}
