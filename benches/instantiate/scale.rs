//! What a lane costs the engine: one app context over many clusters that answer at once.
//!
//! Each size has a process of its own, so that memory which an earlier one left does not count for it.

use std::convert::Infallible;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use dcm_core::name::OwnerId;
use dcm_core::port::clock::Clock;
use dcm_core::port::cluster::Clusters;
use dcm_core::port::synchronizer::Synchronizer as _;
use dcm_core::status::Progress;
use dcm_store::MemoryStore;
use dcm_sync::engine::{Engine, Options};
use dcm_sync::runtime::{OsRandom, TokioClock};
use dcm_sync::sim::{Fleet, NullFleet, cluster_id};
use serde::{Deserialize, Serialize};
use tokio::process::Command;

use crate::cloud::Cloud;
use crate::usage;

/// The first argument of a child process.
pub(crate) const CHILD: &str = "scale-child";

/// How long nothing must happen before a size counts as finished: answered requests are cleared away after the end.
const QUIET: Duration = Duration::from_millis(200);

/// What the lanes run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Clusters that answer at once and keep nothing.
    Null,
    /// Simulated clusters.
    Simulated,
}

/// What one size cost.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) lanes: u32,
    pub(crate) cpu_us: f64,
    pub(crate) wall_us: f64,
    pub(crate) bytes: f64,
}

impl Cost {
    pub(crate) fn cpu_us_a_lane(&self) -> f64 {
        self.cpu_us / f64::from(self.lanes)
    }

    pub(crate) fn bytes_a_lane(&self) -> f64 {
        self.bytes / f64::from(self.lanes)
    }
}

/// How CPU grows with lanes: 1 is in proportion.
pub(crate) fn growth_exponent(small: &Cost, large: &Cost) -> f64 {
    (large.cpu_us / small.cpu_us).ln() / f64::from(large.lanes / small.lanes).ln()
}

/// Measures one size in a process of its own.
pub(crate) async fn measure(kind: Kind, lanes: u32) -> Result<Cost> {
    let output = Command::new(std::env::current_exe()?)
        .arg(CHILD)
        .arg(serde_json::to_string(&kind)?)
        .arg(lanes.to_string())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .await?;
    ensure!(output.status.success(), "{lanes} lanes: {}", output.status);
    serde_json::from_slice(&output.stdout).context("a size prints what it cost as JSON")
}

/// The whole of a child process: measures and prints the line that its parent reads.
pub(crate) fn child(arguments: &[String]) -> Result<Infallible> {
    let [kind, lanes] = arguments else { bail!("a child is told a kind of clusters and a number of lanes") };
    let (kind, lanes) = (serde_json::from_str(kind)?, lanes.parse()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (cost, _engine) = run(kind, lanes).await?;
        println!("{}", serde_json::to_string(&cost)?);
        // What it cost is known: nobody waits for ten thousand clusters to be given back.
        std::process::exit(0)
    })
}

async fn run(kind: Kind, lanes: u32) -> Result<(Cost, Engine)> {
    let clock: Arc<dyn Clock> = Arc::new(TokioClock::new());
    let clusters = clusters(kind, lanes, clock.clone());
    let options = Options { owner: OwnerId::new("bench")?, ..unlimited() };
    let store = Arc::new(MemoryStore::new());
    let (engine, work) = Engine::builder(store, clusters).options(options).build(clock.clone(), &OsRandom);
    tokio::spawn(work);
    let context = Cloud::new("bench-scale")?.app_context((1..=lanes as usize).map(cluster_id))?;
    tokio::time::sleep(QUIET).await;

    let (cpu, started, bytes) = (usage::cpu()?, clock.now(), usage::resident_bytes()?);
    engine.contexts().apply(&context).await?;
    let status = engine.contexts().wait_until_done(&context.id).await?;
    let wall = clock.now().duration_since(started);
    ensure!(status.progress == Progress::Done, "not done: {:?}", status.progress);
    drop(status);
    settle().await?;
    let cost = Cost {
        lanes,
        cpu_us: (usage::cpu()? - cpu).as_secs_f64() * 1e6,
        wall_us: wall.as_secs_f64() * 1e6,
        bytes: usage::resident_bytes()?.saturating_sub(bytes) as f64,
    };
    Ok((cost, engine))
}

fn clusters(kind: Kind, lanes: u32, clock: Arc<dyn Clock>) -> Arc<dyn Clusters> {
    match kind {
        Kind::Null => Arc::new(NullFleet::new(clock)),
        Kind::Simulated => Arc::new(Fleet::builder(clock).clusters(lanes as usize).build()),
    }
}

/// Options without a write budget.
pub(crate) fn unlimited() -> Options {
    Options { writes_per_second: u32::MAX, writes_burst: u32::MAX, ..Options::default() }
}

/// Waits until the process has nothing to do.
async fn settle() -> Result<()> {
    loop {
        let before = usage::cpu()?;
        tokio::time::sleep(QUIET).await;
        if usage::cpu()? - before < QUIET / 20 {
            return Ok(());
        }
    }
}
