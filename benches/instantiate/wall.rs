//! How long instantiating takes, beside the floor and `kubectl`: in turns, in several rounds of one run.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use dcm_benches::cloud::Cloud;
use dcm_benches::size::Size;
use dcm_benches::statistics::median;
use dcm_benches::usage;
use dcm_core::app_context::AppContext;
use dcm_store::{EncryptedStore, Keyring, MemoryStore, SqliteStore};
use tokio::time::Instant;

use super::document::FromDocument;
use super::floor::{Floor, Objects};
use super::kubectl::{Kubectl, Prepared};
use super::ours::Ours;
use super::servers::Servers;

/// Owners of the engines, so that they don't meet on the servers.
pub(crate) const OWNER_MEMORY: &str = "bench-memory";
const OWNER_SQLITE: &str = "bench-sqlite";

/// Rounds of one cloud, of many clouds at once, and of many with `kubectl`, which takes so long that one has to do.
const ROUNDS_ONE: usize = 50;
const ROUNDS_MANY: usize = 18;
const ROUNDS_MANY_KUBECTL: usize = 1;

/// Clouds at once.
const MANY: usize = 20;

/// How long the servers rest after each turn for each cloud that it made: the controllers then make what they make in
/// every namespace, and the engine clears answered requests away.
const REST_A_CLOUD: Duration = Duration::from_millis(200);
const REST_MIN: Duration = Duration::from_millis(500);

/// The rest after each turn at the smallest size.
const REST_SMALLEST: Duration = Duration::from_millis(50);

/// The times of one number of clouds at once, a value for each round.
#[derive(Debug, Default)]
pub(crate) struct Times(BTreeMap<Contestant, Vec<Cost>>);

/// What a turn cost.
#[derive(Debug, Clone, Copy)]
struct Cost {
    wall: Duration,
    /// CPU of this process. The engines at rest add little; child processes such as `kubectl` are not counted.
    cpu: Duration,
}

/// Who is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Contestant {
    Memory,
    Floor,
    /// The floor without marks.
    Bare,
    Sqlite,
    Kubectl,
    Document,
}

/// In the order of the first round.
const CONTESTANTS: [Contestant; 6] = [
    Contestant::Memory,
    Contestant::Floor,
    Contestant::Bare,
    Contestant::Sqlite,
    Contestant::Kubectl,
    Contestant::Document,
];

impl Times {
    fn of(&self, contestant: Contestant) -> impl Iterator<Item = f64> {
        self.0.get(&contestant).into_iter().flatten().map(|cost| cost.wall.as_secs_f64())
    }

    /// The median of the CPU time of this process, in microseconds.
    pub(crate) fn cpu_us(&self, contestant: Contestant) -> f64 {
        median(self.0.get(&contestant).into_iter().flatten().map(|cost| cost.cpu.as_secs_f64() * 1e6))
    }

    /// The median, in milliseconds.
    pub(crate) fn milliseconds(&self, contestant: Contestant) -> f64 {
        median(self.of(contestant).map(|seconds| seconds * 1e3))
    }

    /// The median of the ratios of each round: what slows the machine down for a while slows down both.
    pub(crate) fn ratio(&self, one: Contestant, other: Contestant) -> f64 {
        median(self.of(one).zip(self.of(other)).map(|(one, other)| one / other))
    }
}

/// All that was measured.
#[derive(Debug, Default)]
pub(crate) struct Walls {
    /// The first cloud of an engine that was just started, on servers that it has not seen, in milliseconds.
    pub(crate) cold: f64,
    pub(crate) one: Times,
    pub(crate) many: Times,
}

/// The contestants.
pub(crate) struct Contest<'a> {
    pub(crate) size: Size,
    servers: &'a Servers,
    pub(crate) memory: Ours,
    sqlite: Ours,
    pub(crate) document: FromDocument,
    floor: Floor,
    _folder: tempfile::TempDir,
}

impl<'a> Contest<'a> {
    pub(crate) async fn start(servers: &'a Servers, size: Size) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        // As the command line wires it: secrets are encrypted before they reach the file.
        let keyring = Keyring::open_or_create(folder.path().join("keys"))?;
        let file = Arc::new(SqliteStore::open(folder.path().join("store.db")).await?);
        let encrypted = Arc::new(EncryptedStore::new(file, keyring));
        Ok(Self {
            size,
            servers,
            memory: Ours::start(servers, OWNER_MEMORY, Arc::new(MemoryStore::new()))?,
            sqlite: Ours::start(servers, OWNER_SQLITE, encrypted)?,
            document: FromDocument::start(servers, folder.path()).await?,
            floor: Floor::start(servers).await?,
            _folder: folder,
        })
    }

    /// All rounds, after one that only warms up.
    pub(crate) async fn run(&self) -> Result<Walls> {
        let contexts = self.contexts("cold", 1)?;
        let cold = timed(self.memory.instantiate(&contexts)).await?.wall.as_secs_f64() * 1e3;
        let clouds = self.size.of(MANY, 2);
        let [rounds_one, rounds_many] = self.size.of([ROUNDS_ONE, ROUNDS_MANY], [1, 1]);
        let warming = self.size.of(1, 0);
        self.rounds("warm-one", 1, warming, 0).await?;
        self.rounds("warm-many", clouds, warming, 0).await?;
        let one = self.rounds("one", 1, rounds_one, rounds_one).await?;
        let many = self.rounds("many", clouds, rounds_many, ROUNDS_MANY_KUBECTL).await?;
        Ok(Walls { cold, one, many })
    }

    async fn rounds(&self, name: &str, clouds: usize, rounds: usize, with_kubectl: usize) -> Result<Times> {
        let mut times = Times::default();
        for round in 0..rounds {
            eprintln!("{clouds} at once, round {} of {rounds}", round + 1);
            // Each begins as often as the others: what one leaves to the controllers meets the next one.
            for place in 0..CONTESTANTS.len() {
                let contestant = CONTESTANTS[(round + place) % CONTESTANTS.len()];
                let takes_part = match contestant {
                    Contestant::Memory | Contestant::Floor | Contestant::Sqlite => true,
                    Contestant::Bare => clouds > 1,
                    Contestant::Kubectl => round < with_kubectl,
                    Contestant::Document => clouds == 1,
                };
                if takes_part {
                    let name = format!("{name}-{round}-{contestant:?}").to_lowercase();
                    let time = Box::pin(self.turn(contestant, &name, clouds)).await?;
                    times.0.entry(contestant).or_default().push(time);
                    rest(self.size, clouds).await;
                }
            }
        }
        Ok(times)
    }

    async fn turn(&self, contestant: Contestant, name: &str, clouds: usize) -> Result<Cost> {
        let contexts = self.contexts(name, clouds)?;
        match contestant {
            Contestant::Memory => timed(self.memory.instantiate(&contexts)).await,
            Contestant::Sqlite => timed(self.sqlite.instantiate(&contexts)).await,
            Contestant::Floor => timed(self.floor.instantiate(&contexts, Objects::Marked)).await,
            Contestant::Bare => timed(self.floor.instantiate(&contexts, Objects::Bare)).await,
            Contestant::Document => timed(self.document.instantiate(name)).await,
            Contestant::Kubectl => {
                let prepared: Result<Vec<_>> = contexts.iter().map(Prepared::new).collect();
                timed(Kubectl(self.servers).instantiate(&prepared?)).await
            }
        }
    }

    /// New logical clouds on all clusters.
    pub(crate) fn contexts(&self, name: &str, clouds: usize) -> Result<Vec<AppContext>> {
        let ids = self.servers.ids()?;
        (0..clouds).map(|number| Cloud::new(&format!("{name}-{number}"))?.app_context(ids.clone())).collect()
    }

    pub(crate) async fn stop(self) {
        self.memory.stop().await;
        self.sqlite.stop().await;
        self.document.stop().await;
    }
}

async fn timed(work: impl Future<Output = Result<()>>) -> Result<Cost> {
    let (start, cpu) = (Instant::now(), usage::cpu()?);
    work.await?;
    Ok(Cost { wall: start.elapsed(), cpu: usage::cpu()?.saturating_sub(cpu) })
}

/// Lets the servers finish what follows from so many new clouds.
pub(crate) async fn rest(size: Size, clouds: usize) {
    let rest = REST_A_CLOUD * u32::try_from(clouds).unwrap_or(u32::MAX);
    tokio::time::sleep(size.of(rest.max(REST_MIN), REST_SMALLEST)).await;
}
