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
        self.run(None, clouds, Duration::ZERO, false).await?;
        for pair in 0..pairs {
            for is_forged in [pair % 2 == 0, pair % 2 != 0] {
                eprintln!("{}: pair {} of {pairs}, {is_forged}", form.what(), pair + 1);
                let forger = is_forged.then_some(&forger);
                let Measured { took, peak_bytes } = self.run(forger, clouds, Duration::ZERO, false).await?;
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
        let Measured { peak_bytes: bytes, .. } =
            self.run(Some(&forger), 1, self.size.of(MEMORY_TIME, MEMORY_TIME_SMALLEST), true).await?;
        let answered = forger.answered() as f64;
        ensure!(answered > 0.0, "nothing was forged");
        Ok(Peak { bytes, answered })
    }

    async fn run(
        &mut self,
        forger: Option<&Forger>,
        clouds: usize,
        rest: Duration,
        is_unlimited: bool,
    ) -> Result<Measured> {
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
        child::run(BENCH, &Order { name, kubeconfigs, forger, clouds, rest, is_unlimited }).await
    }
}
