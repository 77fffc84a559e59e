//! What a lane costs the engine: one app context over many clusters that answer at once.
//!
//! Each size has a process of its own, so that memory which an earlier one left does not count for it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use dcm_benches::cloud::Cloud;
use dcm_benches::size::Size;
use dcm_benches::{child, usage};
use dcm_core::port::clock::Clock;
use dcm_core::port::cluster::Clusters;
use dcm_core::port::store::{Document, Path, Prefix, StoreExt as _, Write};
use dcm_core::port::synchronizer::Synchronizer as _;
use dcm_core::status::Progress;
use dcm_store::MemoryStore;
use dcm_sync::engine::{Engine, Options};
use dcm_sync::runtime::{OsRandom, TokioClock};
use dcm_sync::sim::{Fleet, NullFleet, cluster_id};
use serde::{Deserialize, Serialize};

use super::BENCH;

/// Numbers of lanes, and those at the smallest size.
const SIZES: [u32; 3] = [100, 1_000, 10_000];
const SIZES_SMALLEST: [u32; SIZES.len()] = [1, 2, 4];

/// The process is at rest when it used next to nothing for so long; longer than a signer of the simulation takes.
const QUIET: Duration = Duration::from_millis(200);

/// How long lanes at rest are looked at: three signs of life of the worker.
const IDLE: Duration = Duration::from_secs(10);
const IDLE_SMALLEST: Duration = Duration::from_millis(100);

/// What the lanes run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// Clusters that answer at once and keep nothing.
    Null,
    /// Simulated clusters.
    Simulated,
}

/// What one size cost.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Cost {
    lanes: u32,
    cpu_us: f64,
    bytes: f64,
    /// Those of them that are documents in the memory store.
    stored_bytes: f64,
    /// What they go on costing at rest, in percent of one core. Looked at on simulated clusters, which go on by themselves.
    idle_cpu_percent: Option<f64>,
}

impl Cost {
    pub(crate) fn cpu_us(&self) -> f64 {
        self.cpu_us
    }

    pub(crate) fn cpu_us_a_lane(&self) -> f64 {
        self.cpu_us / f64::from(self.lanes)
    }

    /// Without what the memory store keeps: with another store that is on a disk, or on another machine.
    pub(crate) fn bytes_a_lane(&self) -> f64 {
        (self.bytes - self.stored_bytes) / f64::from(self.lanes)
    }

    pub(crate) fn idle_cpu_percent(&self) -> Option<f64> {
        self.idle_cpu_percent
    }

    pub(crate) fn bytes_a_lane_with_store(&self) -> f64 {
        self.bytes / f64::from(self.lanes)
    }
}

/// What lanes cost, by their number.
#[derive(Debug)]
pub(crate) struct Scale {
    /// The engine on clusters that answer at once, with each of [`SIZES`].
    pub(crate) engine: [Cost; SIZES.len()],
    /// The engine and simulated clusters, with the largest size.
    pub(crate) simulated: Cost,
}

impl Scale {
    /// How CPU grows from the smallest to the largest size: 1 is in proportion.
    pub(crate) fn growth_exponent(&self) -> f64 {
        let [small, .., large] = &self.engine;
        (large.cpu_us / small.cpu_us).ln() / (f64::from(large.lanes) / f64::from(small.lanes)).ln()
    }
}

/// Measures all sizes.
pub(crate) async fn run(size: Size) -> Result<Scale> {
    let [small, middle, large] = size.of(SIZES, SIZES_SMALLEST);
    let idle = size.of(IDLE, IDLE_SMALLEST);
    Ok(Scale {
        engine: [
            measure(Kind::Null, small, idle).await?,
            measure(Kind::Null, middle, idle).await?,
            measure(Kind::Null, large, idle).await?,
        ],
        simulated: measure(Kind::Simulated, large, idle).await?,
    })
}

/// Measures one size: CPU with a caller that waits for the end, memory without one, since the status that the caller
/// gets is the caller's. Each in a process of its own.
async fn measure(kind: Kind, lanes: u32, idle: Duration) -> Result<Cost> {
    let order = |caller| Order { kind, lanes, caller, idle };
    let waited: Cost = child::run(BENCH, &order(Caller::Waits)).await?;
    let left = child::run(BENCH, &order(Caller::Leaves)).await?;
    Ok(Cost { cpu_us: waited.cpu_us, ..left })
}

/// What a child process is to do.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Order {
    kind: Kind,
    lanes: u32,
    caller: Caller,
    /// How long lanes at rest are looked at.
    idle: Duration,
}

/// What the one does who applied the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Caller {
    Waits,
    Leaves,
}

/// The whole of a child process: measures and prints the line that its parent reads.
pub(crate) fn child(order: &str) -> Result<Infallible> {
    let order = serde_json::from_str(order)?;
    // One thread: the engine is one task, and nothing else is to be measured.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (cost, _engine) = instantiate(order).await?;
        child::answer(&cost)
    })
}

async fn instantiate(order: Order) -> Result<(Cost, Engine)> {
    let Order { kind, lanes, caller, idle } = order;
    let clock: Arc<dyn Clock> = Arc::new(TokioClock::new());
    let clusters = clusters(kind, lanes, clock.clone());
    let store = Arc::new(MemoryStore::new());
    let (engine, work) =
        Engine::builder(store.clone(), clusters).options(unlimited()).build(clock.clone(), &OsRandom);
    tokio::spawn(work);
    let context = Cloud::new("bench-scale")?.app_context((1..=lanes as usize).map(cluster_id))?;
    settle().await?;

    let (cpu, bytes) = (usage::cpu()?, usage::resident_bytes()?);
    engine.contexts().apply(&context).await?;
    if caller == Caller::Waits {
        engine.contexts().wait_until_done(&context.id).await?;
    }
    settle().await?;
    let looks_on = (kind, caller) == (Kind::Simulated, Caller::Leaves);
    let cost = Cost {
        lanes,
        cpu_us: (usage::cpu()? - cpu).as_secs_f64() * 1e6,
        bytes: usage::resident_bytes()?.saturating_sub(bytes) as f64,
        stored_bytes: bytes_of(&store).await?,
        idle_cpu_percent: if looks_on { Some(idle_cpu_percent(idle).await?) } else { None },
    };
    let status = engine.contexts().wait_until_done(&context.id).await?;
    ensure!(status.progress == Progress::Done, "not done: {:?}", status.progress);
    Ok((cost, engine))
}

/// The CPU that a process at rest uses, in percent of one core.
async fn idle_cpu_percent(idle: Duration) -> Result<f64> {
    let cpu = usage::cpu()?;
    tokio::time::sleep(idle).await;
    Ok((usage::cpu()? - cpu).as_secs_f64() / idle.as_secs_f64() * 100.0)
}

/// What the documents of a memory store take: as much as a copy of them. Memory that was freed before makes the copy
/// look smaller than it is, and with that the engine larger.
async fn bytes_of(store: &MemoryStore) -> Result<f64> {
    let entries = store.list_all(&Prefix::everything()).await?;
    let (copy, before) = (MemoryStore::new(), usage::resident_bytes()?);
    for entry in entries {
        let path = Path::new(entry.path.as_str())?;
        copy.write_one(Write::Create { path, document: Document::from_stored(entry.document.as_str()) })
            .await?;
    }
    Ok(usage::resident_bytes()?.saturating_sub(before) as f64)
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

/// Waits until the process has nothing to do: answered requests are cleared away after the end.
async fn settle() -> Result<()> {
    loop {
        let before = usage::cpu()?;
        tokio::time::sleep(QUIET).await;
        if usage::cpu()? - before < QUIET / 20 {
            return Ok(());
        }
    }
}
