//! Lets clients loose on a store, disturbs it, and judges what they saw.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::port::store::{PAGE_MAX, Path, Store};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::check::{Violation, check};
use super::follower::{Follower, list_all};
use super::history::{Client, History, Outcome};
use super::recorder::{Caller, Recorder, Tape};
use super::seeded::Seeded;
use super::watches;
use super::workload::Workload;

/// How long a store may be away: much longer than a server needs to start again on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// How long after all writes a watch may take to tell the last of them. One that is not broken never takes so long.
const WATCH_PATIENCE: Duration = Duration::from_secs(120);

/// The longest time between two looks whether all watches are through. Each look is a list that is judged, too.
const PAUSE_MAX: Duration = Duration::from_secs(4);

/// How long a client waits before it asks again what did not answer.
const RETRY: Duration = Duration::from_millis(10);

/// The numbers of followers begin here, so that they are none of clients.
const FOLLOWERS: u32 = 1 << 16;

/// What a history is played on.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// Connects: each client has a store of its own.
    async fn open(&self) -> Arc<dyn Store>;

    /// Disturbs the backend while clients are at work, and leaves it well: servers that it killed run again. By default
    /// nothing is done.
    async fn disturb(&self, _progress: Progress, _seeded: Seeded) {}
}

/// Tells how far the clients are.
#[derive(Debug, Clone)]
pub struct Progress {
    answered: watch::Receiver<usize>,
    total: usize,
}

impl Progress {
    /// Waits until so many in a hundred of the calls were answered, or the clients are through.
    pub async fn reach(&mut self, percent: usize) {
        let enough = self.total * percent / 100;
        // An error says that the clients are through.
        let _ = self.answered.wait_for(|answered| *answered >= enough).await;
    }
}

/// What is played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Play {
    /// Each client's calls follow from it, and from the answers.
    pub seed: u64,
    /// Where documents are written. Nothing must have been below it.
    pub folder: Path,
    /// The numbers of those who read and write; no two processes that play on one folder may share any.
    pub clients: Range<u32>,
    /// How many answered calls each of them makes.
    pub calls: usize,
    /// How many watch.
    pub followers: u32,
}

/// Why a history is not as it should be.
#[derive(Debug)]
pub struct Failure {
    /// What it was played from.
    pub seed: u64,
    /// What is wrong.
    pub violation: Violation,
    /// What was recorded.
    pub history: History,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}: {}", self.seed, self.violation)
    }
}

impl Play {
    /// Of four clients and two followers, in a folder with a random name.
    ///
    /// # Panics
    /// When the system gives no random numbers.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let number = getrandom::u32().expect("the system gives no random numbers");
        let folder = Path::new(format!("histories/{number:08x}")).expect("a path");
        Self { seed, folder, clients: 0..4, calls: 50, followers: 2 }
    }

    /// Plays it and judges what was seen.
    ///
    /// # Errors
    /// [`Failure`] when the store broke its contract.
    ///
    /// # Panics
    /// When the backend does not come back after a disturbance.
    pub async fn run(&self, backend: Arc<dyn Backend>) -> Result<History, Box<Failure>> {
        let (recorder, tape) = Recorder::to_tape();
        let cast = self.start(&backend, &recorder).await;
        let disturbing = {
            let (backend, progress) = (backend.clone(), cast.progress.clone());
            let seeded = Seeded::new(self.seed, u64::from(Client::LAST.0));
            tokio::spawn(async move { backend.disturb(progress, seeded).await })
        };
        let followers = cast.finish().await;
        joined(disturbing).await;
        let judged = self.judge(&backend, recorder, &tape).await;
        drop(followers);
        judged
    }

    /// Lets clients and followers begin.
    pub async fn start(&self, backend: &Arc<dyn Backend>, recorder: &Recorder) -> Cast {
        let mut stores = Vec::new();
        for client in self.clients.clone() {
            stores.push((Client(client), backend.open().await));
        }
        let mut watched = Vec::new();
        for number in 0..self.followers {
            watched.push((Client(FOLLOWERS + self.clients.start + number), backend.open().await));
        }
        let total = self.calls * stores.len();
        let (answered, receiver) = watch::channel(0);
        let answered = Arc::new(answered);
        let follow = |(client, store)| {
            let follower = Follower::new(store, recorder.clone(), client, self.seed, &self.folder);
            tokio::spawn(follower.run())
        };
        let work = |(client, store)| {
            let caller = Caller::new(store, recorder.clone(), client);
            let workload = Workload::new(self.seed, client, &self.folder);
            tokio::spawn(work(caller, workload, self.calls, answered.clone()))
        };
        Cast {
            followers: Followers(watched.into_iter().map(follow).collect()),
            clients: stores.into_iter().map(work).collect(),
            progress: Progress { answered: receiver, total },
        }
    }

    /// Judges what is on the tape when all clients are through, and watches had their time to tell the last of it.
    ///
    /// # Errors
    /// [`Failure`] when the store broke its contract.
    ///
    /// # Panics
    /// When the backend does not answer any more.
    pub async fn judge(
        &self,
        backend: &Arc<dyn Backend>,
        recorder: Recorder,
        tape: &Tape,
    ) -> Result<History, Box<Failure>> {
        let store = backend.open().await;
        let atomic_batches = store.capabilities().atomic_batches;
        let mut caller = Caller::new(store, recorder, Client::LAST);
        let (began, mut pause) = (Instant::now(), RETRY);
        let history = loop {
            let listed = list_all(&mut caller, &self.folder, PAGE_MAX).await;
            let history = History::new(atomic_batches, tape.events());
            let waited = began.elapsed();
            if listed && (watches::are_through(&history) || waited > WATCH_PATIENCE) {
                break history;
            }
            assert!(waited <= WATCH_PATIENCE + PATIENCE, "the store does not answer any more");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        };
        match check(&history) {
            Ok(()) => Ok(history),
            Err(violation) => Err(Box::new(Failure { seed: self.seed, violation, history })),
        }
    }
}

/// Clients and followers at work.
pub struct Cast {
    /// How far the clients are.
    pub progress: Progress,
    clients: Vec<JoinHandle<()>>,
    followers: Followers,
}

impl Cast {
    /// Waits until the clients are through. The followers go on until what is given is dropped.
    ///
    /// # Panics
    /// When the backend stays away.
    pub async fn finish(self) -> Followers {
        for client in self.clients {
            joined(client).await;
        }
        self.followers
    }
}

/// Those who watch, until this is dropped.
pub struct Followers(Vec<JoinHandle<()>>);

impl Drop for Followers {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

/// Waits for a task, and fails as it did.
async fn joined(task: JoinHandle<()>) {
    if let Err(error) = task.await
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}

/// Makes calls until enough were answered.
async fn work(mut caller: Caller, mut workload: Workload, calls: usize, answered: Arc<watch::Sender<usize>>) {
    for _ in 0..calls {
        // Also on a store that never waits, clients take turns.
        match workload.pause() {
            0 => tokio::task::yield_now().await,
            pause => tokio::time::sleep(Duration::from_millis(pause)).await,
        }
        let request = workload.next();
        let outcome = caller.call(&request).await;
        workload.learn(&request, &outcome);
        if let Outcome::Unavailable { .. } = outcome {
            until_back(&mut caller, &mut workload).await;
        }
        answered.send_modify(|answered| *answered += 1);
    }
}

/// Looks until the store answers again.
async fn until_back(caller: &mut Caller, workload: &mut Workload) {
    let began = Instant::now();
    loop {
        tokio::time::sleep(RETRY).await;
        let request = workload.look();
        let outcome = caller.call(&request).await;
        workload.learn(&request, &outcome);
        if !matches!(outcome, Outcome::Unavailable { .. }) {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "the store stays away for {} seconds", PATIENCE.as_secs());
    }
}
