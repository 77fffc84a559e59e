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
use super::heavy::{self, Extent, Heavy};

/// Real API servers.
const CLUSTERS: usize = 2;

/// Pairs of runs. The best of each kind counts, as what else the machine does makes them longer alone.
const PAIRS: usize = 5;

/// Logical clouds on each cluster.
const CLOUDS: usize = 20;

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

/// The same of clouds beside large objects; and the longest step of the loop where it was shortest.
pub(crate) struct Weighed {
    pub(crate) without: f64,
    pub(crate) with: f64,
    pub(crate) longest_step: f64,
}

/// What one process is to do.
#[derive(Default)]
struct Run<'a> {
    forger: Option<&'a Forger>,
    clouds: usize,
    rest: Duration,
    is_unlimited: bool,
    heavy: Option<(Heavy, Extent)>,
}

impl Runs {
    pub(crate) async fn start(size: Size) -> Result<Self> {
        let environment = Environment::builder().clusters(size.of(CLUSTERS, 1)).start().await;
        Ok(Self { environment: environment.context("real API servers")?, size, count: 0 })
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
        let run = Run { forger: Some(&forger), clouds: 1, rest, is_unlimited: true, heavy: None };
        let Measured { peak_bytes: bytes, .. } = self.run(run).await?;
        let answered = forger.answered() as f64;
        ensure!(answered > 0.0, "nothing was forged");
        Ok(Peak { bytes, answered })
    }

    /// How long clouds take while another tenant's large objects change, and without.
    pub(crate) async fn heavy(&mut self, heavy: Heavy) -> Result<Weighed> {
        let extent = self.size.of(heavy::WHOLE, heavy::SMALLEST);
        let (pairs, clouds) = (self.size.of(PAIRS, 1), self.size.of(CLOUDS, 1));
        let mut best = Weighed { without: f64::INFINITY, with: f64::INFINITY, longest_step: f64::INFINITY };
        for pair in 0..pairs {
            for is_heavy in [pair % 2 == 0, pair % 2 != 0] {
                eprintln!("{}: pair {} of {pairs}, {is_heavy}", heavy.what(), pair + 1);
                let heavy = is_heavy.then_some((heavy, extent));
                let run = Run { clouds, heavy, ..Run::default() };
                let Measured { took, longest_step, .. } = self.run(run).await?;
                let wall = if is_heavy { &mut best.with } else { &mut best.without };
                *wall = wall.min(took.as_secs_f64());
                if is_heavy {
                    best.longest_step = best.longest_step.min(longest_step.as_secs_f64());
                }
            }
        }
        Ok(best)
    }

    async fn run(&mut self, run: Run<'_>) -> Result<Measured> {
        let Run { forger, clouds, rest, is_unlimited, heavy } = run;
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
        child::run(BENCH, &Order { name, kubeconfigs, forger, clouds, rest, is_unlimited, heavy }).await
    }
}
