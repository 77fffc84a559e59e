//! The runs: pairs with and without the forging cluster, and those over which memory is measured.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dcm_benches::child;
use dcm_benches::size::Size;
use dcm_core::name::ClusterId;
use dcm_testenv::{Environment, Route};

use super::BENCH;
use super::engine::{Measured, Order};
use super::forger::{Forger, Form};
use super::heavy::{self, Heavy, Large};

/// Real API servers.
const CLUSTERS: usize = 2;

/// Pairs of runs. The best of each kind counts, as what else the machine does makes them longer alone.
const PAIRS: usize = 5;

/// Logical clouds on each cluster.
const CLOUDS: usize = 20;

/// Rounds of runs beside large objects: a multiple of the kinds of runs, each of which is then as often the first of a round, as API servers
/// become slower the more there is on them. Their stores have room for the objects of so many.
const ROUNDS: usize = 6;

/// In how many of these rounds the large objects also change alone.
const ROUNDS_ALONE: usize = 2;

/// Logical clouds on each cluster beside large objects: enough for some seconds, in which those change several times.
const CLOUDS_BESIDE: usize = 100;

/// For how long large objects alone change, to find the longest step of the engine's loop.
const ALONE_TIME: Duration = Duration::from_secs(5);
const ALONE_TIME_SMALLEST: Duration = Duration::from_millis(100);

/// How long large objects may take to come to rest.
const SETTLING_TIME: Duration = Duration::from_secs(2);

/// For how long memory is measured, while the forging cluster answers as fast as it can.
const MEMORY_TIME: Duration = Duration::from_secs(60);
const MEMORY_TIME_SMALLEST: Duration = Duration::from_secs(1);

pub(crate) struct Runs {
    environment: Environment,
    size: Size,
    count: usize,
}

/// How long the other clusters took at best, in seconds.
pub(crate) struct Walls {
    pub(crate) without: f64,
    pub(crate) with: f64,
    pub(crate) peak_bytes: u64,
}

/// What memory was needed.
pub(crate) struct Peak {
    pub(crate) bytes: u64,
    /// Bytes that the forging cluster answered meanwhile.
    pub(crate) answered: f64,
}

/// How long clouds took beside large objects: in the mean, in seconds.
pub(crate) struct Weighed {
    pub(crate) without: f64,
    /// Where no engine follows the large objects: what clusters alone do.
    pub(crate) unfollowed: f64,
    pub(crate) with: f64,
    /// The longest step of the engine's loop, where it was shortest, while the large objects alone change.
    pub(crate) longest_step: f64,
}

/// What one process is to do.
#[derive(Default, Clone, Copy)]
struct Run<'a> {
    forger: Option<&'a Forger>,
    clouds: usize,
    rest: Duration,
    is_unlimited: bool,
    large: Option<Large>,
}

impl Runs {
    pub(crate) async fn start(size: Size) -> Result<Self> {
        Ok(Self { environment: api_servers(size).await?, size, count: 0 })
    }

    pub(crate) async fn walls(&mut self, form: Form) -> Result<Walls> {
        let forger = Forger::start(form).await?;
        let mut walls = Walls { without: f64::INFINITY, with: f64::INFINITY, peak_bytes: 0 };
        let (pairs, clouds) = (self.size.of(PAIRS, 1), self.size.of(CLOUDS, 1));
        // What is made once, by the servers too, is made by then.
        self.run(Run { clouds, ..Run::default() }).await?;
        for pair in 0..pairs {
            for is_forged in [pair % 2 == 0, pair % 2 != 0] {
                eprintln!("{}: pair {} of {pairs}, {is_forged}", form.what(), pair + 1);
                let forger = is_forged.then_some(&forger);
                let Measured { took, peak_bytes, .. } =
                    self.run(Run { forger, clouds, ..Run::default() }).await?;
                let best = if is_forged { &mut walls.with } else { &mut walls.without };
                *best = best.min(took.as_secs_f64());
                walls.peak_bytes = walls.peak_bytes.max(if is_forged { peak_bytes } else { 0 });
            }
        }
        ensure!(forger.answered() > 0, "nothing was forged");
        Ok(walls)
    }

    pub(crate) async fn memory(&mut self, form: Form) -> Result<Peak> {
        let forger = Forger::start(form).await?;
        eprintln!("{}: memory", form.what());
        let rest = self.size.of(MEMORY_TIME, MEMORY_TIME_SMALLEST);
        let run = Run { forger: Some(&forger), clouds: 1, rest, is_unlimited: true, ..Run::default() };
        let Measured { peak_bytes: bytes, .. } = self.run(run).await?;
        let answered = forger.answered() as f64;
        ensure!(answered > 0.0, "nothing was forged");
        Ok(Peak { bytes, answered })
    }

    /// How long clouds take while another tenant's large objects change, and without.
    pub(crate) async fn heavy(&mut self, heavy: Heavy) -> Result<Weighed> {
        if self.size == Size::Whole {
            // The stores of those that are there have no room for more.
            self.environment = api_servers(self.size).await?;
        }
        let large = |is_followed| {
            let extent = self.size.of(heavy::WHOLE, heavy::SMALLEST);
            let settles = self.size.of(SETTLING_TIME, Duration::ZERO);
            Some(Large { heavy, extent, is_followed, settles })
        };
        let (rounds, clouds) = (self.size.of(ROUNDS, 1), self.size.of(CLOUDS_BESIDE, 1));
        let rest = self.size.of(ALONE_TIME, ALONE_TIME_SMALLEST);
        let runs = [
            Run { clouds, ..Run::default() },
            Run { clouds, large: large(false), ..Run::default() },
            Run { clouds, large: large(true), ..Run::default() },
        ];
        let alone = Run { rest, large: large(true), ..Run::default() };
        let (mut sums, mut longest_step) = ([0.0; 3], f64::INFINITY);
        for round in 0..rounds {
            eprintln!("{}: round {} of {rounds}", heavy.what(), round + 1);
            // Another one is the first in each round.
            for at in (0..runs.len()).map(|at| (at + round) % runs.len()) {
                sums[at] += self.run(runs[at]).await?.took.as_secs_f64();
            }
            if round < ROUNDS_ALONE {
                longest_step = longest_step.min(self.run(alone).await?.longest_step.as_secs_f64());
            }
        }
        let [without, unfollowed, with] = sums.map(|sum| sum / rounds as f64);
        Ok(Weighed { without, unfollowed, with, longest_step })
    }

    async fn run(&mut self, run: Run<'_>) -> Result<Measured> {
        let Run { forger, clouds, rest, is_unlimited, large } = run;
        self.count += 1;
        let id = |name: &str| ClusterId::new("bench", name);
        let kubeconfigs: BTreeMap<_, _> = self
            .environment
            .clusters()
            .iter()
            .map(|cluster| Ok((id(cluster.name())?, cluster.admin_kubeconfig(Route::Direct))))
            .collect::<Result<_>>()?;
        let forger = forger.map(|forger| {
            format!(
                "current-context: c\ncontexts: [{{name: c, context: {{cluster: c}}}}]\n\
                 clusters: [{{name: c, cluster: {{server: 'http://{}'}}}}]\n",
                forger.address
            )
        });
        let name = format!("forged-{}", self.count);
        let order = Order { name, kubeconfigs, forger, clouds, rest, is_unlimited, large };
        child::run(BENCH, &order).await
    }
}

async fn api_servers(size: Size) -> Result<Environment> {
    Environment::builder().clusters(size.of(CLUSTERS, 1)).start().await.context("real API servers")
}
