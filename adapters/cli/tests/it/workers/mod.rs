//! Several `dcm serve` on one store, on real API servers: they share the clusters, and any of them may die, stand still, stop or
//! join at any time.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod answering;
use crate::common;
mod full_disk;
mod late;
mod proof;
mod readiness;
mod rekeying;
mod store_outage;

use std::io::{BufRead as _, BufReader, PipeReader};
use std::sync::mpsc;
use std::thread;

use common::User;
use common::installation::{CLUSTERS, Installation, Worker, timeout, until};
use dcm_core::port::clock::Seeded;
use dcm_testenv::effort::{budget, seed};
use dcm_testenv::{Environment, Standalone};
use proof::{assert_all_have_the_same, assert_fences_grow, is_nothing_left, is_tidy, owners};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::runtime::Handle;

/// So short that clusters are taken over while workers go on dying.
const SHORT: &str = "2s";

/// So long that nothing is taken over in a test: what is handed over was given back.
const LONG: &str = "10m";

/// How many workers there are.
const WORKERS: usize = 3;

/// What workers have to live with.
struct Storm {
    /// How many clouds are applied and terminated meanwhile.
    clouds: usize,
    /// How long a dead worker's clusters stay its own.
    lease: &'static str,
    /// How many workers die while clouds are applied, one after the other; a quarter as many while they are terminated, and one at least.
    deaths: usize,
}

/// How many writes it takes at least to apply a cloud to a cluster: its namespace, quota, service account, role and binding, a
/// certificate and a token.
const APPLY_WRITES_MIN: usize = 7;

/// How many writes it takes at least to terminate a cloud on a cluster: the deletion of its namespace.
const TERMINATE_WRITES_MIN: usize = 1;

impl Storm {
    /// After how many writes the next worker dies, where so many are needed for each cloud on each cluster: all die before the work is
    /// done, on however slow a machine.
    fn writes_between(&self, deaths: usize, writes_min: usize) -> usize {
        self.clouds * CLUSTERS * writes_min / (deaths + 1)
    }
}

fn cloud(number: usize, prefix: &str) -> String {
    format!("{prefix}-{number}")
}

fn document(installation: &Installation<'_>, cloud: &str, pods: u64) -> Value {
    let look = json!({"name": "look", "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
    let users = json!([{"name": "ann"}, {"name": "ci", "type": "token"}]);
    let quotas = json!([{"name": "compute", "hard": {"pods": pods}}]);
    installation.document(cloud, json!({"users": users, "permissions": [look], "quotas": quotas}))
}

/// Somebody whose store lies at a URL.
fn kept_at<'a>(environment: &'a Environment, name: &str, store: String) -> Installation<'a> {
    Installation::of(environment, name, User::with([("DCM_STORE", store)]))
}

/// One of the workers dies and another one starts, again and again, each time when so much was written, while `work` goes on.
fn rage(
    installation: &Installation<'_>,
    storm: &Storm,
    (deaths, writes): (usize, usize),
    work: impl FnOnce() + Send,
) -> Vec<Worker> {
    let mut workers: Vec<Worker> = (0..WORKERS).map(|_| installation.serve_with_lease(storm.lease)).collect();
    let (random, runtime) = (Seeded::new(seed("workers")), Handle::current());
    let since = installation.moment();
    let mut kill = || {
        for death in 1..=deaths {
            // Counted from the beginning: what is written while this looks, or while a worker starts, counts for the next death.
            runtime.block_on(until("writes of workers", async || {
                let written: usize = installation.writes(&since).iter().map(Vec::len).sum();
                (written >= death * writes).then_some(())
            }));
            let victim = usize::try_from(random.below(WORKERS as u64)).unwrap();
            // One that is dropped is killed.
            workers[victim] = installation.serve_with_lease(storm.lease);
        }
    };
    tokio::task::block_in_place(|| {
        thread::scope(|scope| {
            scope.spawn(work);
            kill();
        });
    });
    workers
}

/// Hears each line with this text that a process writes; all else that it writes is read, too, so that it can go on.
fn hear(written: PipeReader, text: &'static str) -> mpsc::Receiver<()> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(written).lines().map_while(Result::ok);
        // The test may have heard enough, and gone.
        lines.filter(|line| line.contains(text)).for_each(|_| sender.send(()).unwrap_or_default());
    });
    receiver
}

/// Waits until all clouds of a person are done.
async fn all_done(installation: &Installation<'_>, count: usize) {
    until("all clouds to be done", async || {
        let statuses = installation.person.run(["status", "-o", "json"]).done();
        let statuses: Vec<Value> = serde_json::from_str(&statuses).unwrap();
        let done = statuses.iter().filter(|status| status["state"] == "instantiated").count();
        (done == count).then_some(())
    })
    .await;
}

/// Clouds are applied, and terminated, while workers die: all is there, then nothing is.
async fn survives(installation: &Installation<'_>, prefix: &str, storm: &Storm) {
    let since = installation.moment();
    let deaths = (storm.deaths, storm.writes_between(storm.deaths, APPLY_WRITES_MIN));
    let workers = rage(installation, storm, deaths, || {
        for number in 1..=storm.clouds {
            installation.hand_over(&document(installation, &cloud(number, prefix), 10));
        }
    });
    all_done(installation, storm.clouds).await;
    // A worker deletes answered requests after the cloud is done.
    until("answered requests to be gone", async || is_tidy(installation, prefix).await.then_some(())).await;
    assert_all_have_the_same(installation, prefix, storm.clouds).await;
    drop(workers);
    let fewer = (storm.deaths / 4).max(1);
    let deaths = (fewer, storm.writes_between(fewer, TERMINATE_WRITES_MIN));
    let workers = rage(installation, storm, deaths, || {
        for number in 1..=storm.clouds {
            installation.person.run(["terminate", &cloud(number, prefix), "--no-wait"]).done();
        }
    });
    until("nothing to be left", async || is_nothing_left(installation, prefix).await.then_some(())).await;
    drop(workers);
    assert_fences_grow(installation, &since);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_clouds_in_etcd_are_finished_by_workers_that_die() {
    let environment = Environment::group("workers", CLUSTERS).await.unwrap();
    let etcd = Standalone::etcd().await.unwrap();
    let installation = kept_at(&environment, "storm-etcd", format!("etcd://{}?timeout=60", etcd.address()));
    let (clouds, deaths) = (budget("workers", 12, 60), budget("deaths", 5, 20));
    let storm = Storm { clouds, lease: SHORT, deaths };
    survives(&installation, "storm-etcd", &storm).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clouds_in_sqlite_are_finished_by_workers_that_die() {
    let environment = Environment::group("workers", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "storm-sqlite");
    let storm = Storm { clouds: 6, lease: SHORT, deaths: budget("deaths_sqlite", 4, 8) };
    survives(&installation, "storm-sqlite", &storm).await;
}

/// The server of this test reads its whole collection for each request, one after the other: less happens at once.
#[tokio::test(flavor = "multi_thread")]
async fn clouds_in_mongodb_are_finished_by_workers_that_die() {
    let environment = Environment::group("workers", CLUSTERS).await.unwrap();
    let mongodb = Standalone::mongodb().await.unwrap();
    let installation =
        kept_at(&environment, "storm-mongodb", format!("mongodb://{}?timeout=60", mongodb.address()));
    let storm = Storm { clouds: 3, lease: "5s", deaths: budget("deaths_mongodb", 2, 4) };
    survives(&installation, "storm-mongodb", &storm).await;
}

/// A worker joins, and one stops: each time the others have the clusters at once, though their leases are long.
async fn hands_over(installation: &Installation<'_>, name: &str) {
    let one = installation.serve_with_lease(LONG);
    installation.hand_over(&document(installation, name, 10));
    all_done(installation, 1).await;
    until("one worker with all clusters", async || (owners(installation) == [CLUSTERS]).then_some(())).await;
    let other = installation.serve_with_lease(LONG);
    until("two workers that share", async || (owners(installation) == [1, 2]).then_some(())).await;
    one.stop();
    until("the other to have them all", async || (owners(installation) == [CLUSTERS]).then_some(())).await;
    installation.hand_over(&document(installation, name, 20));
    all_done(installation, 1).await;
    installation.person.run(["terminate", name, "--timeout", &timeout()]).done();
    other.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_on_each_kind_of_store_share_and_hand_over_at_once() {
    let environment = Environment::group("workers", CLUSTERS).await.unwrap();
    let (etcd, mongodb) = (Standalone::etcd().await.unwrap(), Standalone::mongodb().await.unwrap());
    hands_over(&Installation::new(&environment, "share-sqlite"), "share-sqlite").await;
    let in_etcd = kept_at(&environment, "share-etcd", format!("etcd://{}?timeout=60", etcd.address()));
    hands_over(&in_etcd, "share-etcd").await;
    let in_mongodb =
        kept_at(&environment, "share-mongodb", format!("mongodb://{}?timeout=60", mongodb.address()));
    hands_over(&in_mongodb, "share-mongodb").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_stood_still_for_longer_than_its_lease_does_no_harm() {
    const NAME: &str = "frozen";
    let environment = Environment::group("workers", CLUSTERS).await.unwrap();
    let etcd = Standalone::etcd().await.unwrap();
    let installation = kept_at(&environment, NAME, format!("etcd://{}", etcd.address()));
    let since = installation.moment();
    let workers = [installation.serve_with_lease(SHORT), installation.serve_with_lease(SHORT)];
    installation.hand_over(&document(&installation, NAME, 10));
    all_done(&installation, 1).await;
    until("two workers that share", async || (owners(&installation) == [1, 2]).then_some(())).await;
    for frozen in &workers {
        // In the middle of what it does.
        installation.hand_over(&document(&installation, NAME, 20));
        frozen.signal(Signal::STOP);
        until("the other to have them all", async || (owners(&installation) == [CLUSTERS]).then_some(()))
            .await;
        all_done(&installation, 1).await;
        frozen.signal(Signal::CONT);
        installation.hand_over(&document(&installation, NAME, 30));
        all_done(&installation, 1).await;
        until("two workers that share again", async || (owners(&installation) == [1, 2]).then_some(())).await;
    }
    assert_fences_grow(&installation, &since);
    installation.person.run(["terminate", NAME, "--timeout", &timeout()]).done();
    workers.into_iter().for_each(Worker::stop);
}
