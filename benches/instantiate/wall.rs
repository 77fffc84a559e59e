//! How long instantiating takes, beside the floor and `kubectl`: in turns, several rounds in one run, medians.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use dcm_core::app_context::AppContext;
use dcm_store::{EncryptedStore, Keyring, MemoryStore, SqliteStore};
use tokio::time::Instant;

use crate::cloud::Cloud;
use crate::document::FromDocument;
use crate::floor::Floor;
use crate::kubectl::{Kubectl, Prepared};
use crate::ours::Ours;
use crate::servers::Servers;

/// Owners of the engines, so that they don't meet on the servers.
pub(crate) const OWNER_MEMORY: &str = "bench-memory";
const OWNER_SQLITE: &str = "bench-sqlite";

/// Rounds of one cloud, of many clouds at once, and of many with `kubectl`, which takes so long that one has to do.
const ROUNDS_ONE: usize = 15;
const ROUNDS_MANY: usize = 7;
const ROUNDS_MANY_KUBECTL: usize = 1;

/// Memory store, floor, SQLite, `kubectl`.
const CONTESTANTS: usize = 4;

/// Clouds at once.
const MANY: usize = 20;

/// How long the servers rest after each turn for each cloud that it made: the controllers then make what they make in
/// every namespace, and the engine clears answered requests away.
const REST_A_CLOUD: Duration = Duration::from_millis(200);
const REST_MIN: Duration = Duration::from_millis(500);

/// The medians of one number of clouds at once.
#[derive(Debug, Default)]
pub(crate) struct Medians {
    pub(crate) memory: Duration,
    pub(crate) sqlite: Duration,
    pub(crate) floor: Duration,
    pub(crate) kubectl: Duration,
}

/// All that was measured.
#[derive(Debug, Default)]
pub(crate) struct Walls {
    /// The first cloud of an engine that was just started, on servers that it has not seen.
    pub(crate) cold: Duration,
    /// From the document to kubeconfigs.
    pub(crate) document: Duration,
    pub(crate) one: Medians,
    pub(crate) many: Medians,
}

/// The contestants.
pub(crate) struct Contest<'a> {
    servers: &'a Servers,
    pub(crate) memory: Ours,
    sqlite: Ours,
    document: FromDocument,
    floor: Floor,
    _folder: tempfile::TempDir,
}

impl<'a> Contest<'a> {
    pub(crate) async fn start(servers: &'a Servers) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        // As the command line wires it: secrets are encrypted before they reach the file.
        let keyring = Keyring::open_or_create(folder.path().join("keys"))?;
        let file = Arc::new(SqliteStore::open(folder.path().join("store.db")).await?);
        let encrypted = Arc::new(EncryptedStore::new(file, keyring));
        Ok(Self {
            servers,
            memory: Ours::start(servers, OWNER_MEMORY, Arc::new(MemoryStore::new()))?,
            sqlite: Ours::start(servers, OWNER_SQLITE, encrypted)?,
            document: FromDocument::start(servers, folder.path()).await?,
            floor: Floor::start(servers).await?,
            _folder: folder,
        })
    }

    /// All rounds. The first turn of each contestant only warms it up.
    pub(crate) async fn run(&self) -> Result<Walls> {
        let contexts = self.contexts("cold", 1)?;
        let cold = timed(self.memory.instantiate(&contexts)).await?;
        self.rounds("warm", MANY, 1, 0).await?;
        let one = self.rounds("one", 1, ROUNDS_ONE, ROUNDS_ONE).await?;
        let document = self.documents().await?;
        let many = self.rounds("many", MANY, ROUNDS_MANY, ROUNDS_MANY_KUBECTL).await?;
        Ok(Walls { cold, document, one, many })
    }

    /// One cloud at a time, from its document; the first warms up.
    async fn documents(&self) -> Result<Duration> {
        Box::pin(self.document.instantiate("document-warm")).await?;
        rest(1).await;
        let mut times = Vec::new();
        for round in 0..ROUNDS_ONE {
            let name = format!("document-{round}");
            times.push(turn(1, Box::pin(self.document.instantiate(&name))).await?);
        }
        Ok(median(times))
    }

    async fn rounds(&self, name: &str, clouds: usize, rounds: usize, with_kubectl: usize) -> Result<Medians> {
        let (mut memory, mut sqlite, mut floor, mut kubectl) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for round in 0..rounds {
            eprintln!("{clouds} at once, round {} of {rounds}", round + 1);
            let contexts = |who: &str| self.contexts(&format!("{name}-{round}-{who}"), clouds);
            // Each begins as often as the others: what one leaves to the controllers meets the next one.
            for place in 0..CONTESTANTS {
                match (round + place) % CONTESTANTS {
                    0 => memory.push(turn(clouds, self.memory.instantiate(&contexts("memory")?)).await?),
                    1 => floor.push(turn(clouds, self.floor.instantiate(&contexts("floor")?)).await?),
                    2 => sqlite.push(turn(clouds, self.sqlite.instantiate(&contexts("sqlite")?)).await?),
                    _ if round < with_kubectl => {
                        let prepared: Result<Vec<_>> =
                            contexts("kubectl")?.iter().map(Prepared::new).collect();
                        kubectl.push(turn(clouds, Kubectl(self.servers).instantiate(&prepared?)).await?);
                    }
                    _ => {}
                }
            }
        }
        Ok(Medians {
            memory: median(memory),
            sqlite: median(sqlite),
            floor: median(floor),
            kubectl: median(kubectl),
        })
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

/// One contestant's turn, and the rest after it.
async fn turn(clouds: usize, work: impl Future<Output = Result<()>>) -> Result<Duration> {
    let time = timed(work).await?;
    rest(clouds).await;
    Ok(time)
}

async fn timed(work: impl Future<Output = Result<()>>) -> Result<Duration> {
    let start = Instant::now();
    work.await?;
    Ok(start.elapsed())
}

/// Lets the servers finish what follows from so many new clouds.
pub(crate) async fn rest(clouds: usize) {
    let rest = REST_A_CLOUD * u32::try_from(clouds).unwrap_or(u32::MAX);
    tokio::time::sleep(rest.max(REST_MIN)).await;
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
