//! Servers that are killed in the middle of a history and started again, or stand still for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::port::store::Store;
use dcm_store::FaultyStore;
use dcm_store::faults::Faults;
use dcm_store::histories::{Backend, Play, Progress, Seeded};
use dcm_testenv::Standalone;
use dcm_testenv::effort::patience;
use tokio::time::Instant;

use super::{holds, played_seeds};

/// How long an answer may take, in seconds: long enough that a server on a busy machine, which looks through a whole collection for
/// each call, gives one.
const TIMEOUT: u64 = 5;

/// How long a server stands still: what it was asked comes late then, when nobody waits for it any more.
const FROZEN: Duration = Duration::from_millis(5200);

/// A server, of which each history uses a part of its own.
struct Server {
    server: Arc<Standalone>,
    url: String,
    seed: u64,
    times_max: u64,
    opened: AtomicU64,
}

impl Server {
    fn new(server: &Arc<Standalone>, url: String, seed: u64, times_max: u64) -> Arc<Self> {
        Arc::new(Self { server: server.clone(), url, seed, times_max, opened: AtomicU64::new(0) })
    }

    /// Every other connection loses answers, too: a server that is killed seldom dies just between a write and its answer.
    fn with_faults(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        if number.is_multiple_of(2) {
            return store;
        }
        Arc::new(FaultyStore::new(store, self.seed ^ number, Faults::SOME))
    }
}

#[async_trait]
impl Backend for Server {
    async fn open(&self) -> Arc<dyn Store> {
        let began = Instant::now();
        loop {
            match dcm_store::open(&self.url).await {
                Ok(store) => return self.with_faults(store),
                Err(error) => assert!(began.elapsed() < patience(), "{error:?}"),
            }
        }
    }

    async fn disturb(&self, mut progress: Progress, mut seeded: Seeded) {
        for disturbance in disturbances(&mut seeded, self.times_max) {
            progress.reach(disturbance.percent).await;
            tokio::time::sleep(disturbance.delay).await;
            if disturbance.freezes {
                self.server.freeze();
                tokio::time::sleep(FROZEN).await;
                self.server.thaw();
            }
            if disturbance.kills {
                self.server.kill();
                self.server.start().await.unwrap();
            }
        }
    }
}

/// What happens to a server when so much of a history is done.
struct Disturbance {
    percent: usize,
    /// Not always just after an answer.
    delay: Duration,
    freezes: bool,
    kills: bool,
}

/// The first one kills in any case, a server that stood still, too.
fn disturbances(seeded: &mut Seeded, times_max: u64) -> Vec<Disturbance> {
    let times = 1 + seeded.below(times_max);
    let disturbance = |time| {
        let percent = (time * 80 + seeded.below(40)) / (times + 1);
        let delay = Duration::from_micros(seeded.below(3000));
        let freezes = seeded.once_in(5);
        let kills = time == 1 || !freezes;
        Disturbance { percent: usize::try_from(percent).unwrap(), delay, freezes, kills }
    };
    (1..=times).map(disturbance).collect()
}

#[test]
fn every_history_kills_its_server_and_some_let_it_stand_still() {
    for times_max in [1, 2] {
        let of_seed = |seed| disturbances(&mut Seeded::new(seed, 0), times_max);
        let all: Vec<Vec<Disturbance>> = (1..=200).map(of_seed).collect();
        assert!(all.iter().all(|one| one.iter().any(|disturbance| disturbance.kills)));
        assert!(all.iter().flatten().any(|disturbance| disturbance.freezes));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn etcd() {
    let server = Arc::new(Standalone::etcd().await.unwrap());
    for seed in played_seeds() {
        let url = format!("etcd://{}?timeout={TIMEOUT}", server.address());
        let backend = Server::new(&server, url, seed, 2);
        holds(Play::of(seed).run(backend).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn mongodb() {
    let server = Arc::new(Standalone::mongodb().await.unwrap());
    for seed in played_seeds() {
        // It looks through the whole collection for each update.
        let url = format!("mongodb://{}/history-{seed}?timeout={TIMEOUT}", server.address());
        let backend = Server::new(&server, url, seed, 1);
        let play = Play { clients: 0..3, calls: 20, ..Play::of(seed) };
        holds(play.run(backend).await);
    }
}
