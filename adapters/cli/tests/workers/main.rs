//! Several `dcm serve` on one store, on real API servers: they share the clusters, and any of them may die, stand still, stop or
//! join at any time.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

#[path = "../common/mod.rs"]
mod common;
mod full_disk;
mod late;
mod proof;
mod rekeying;

use std::thread;
use std::time::Duration;

use common::User;
use common::installation::{CLUSTERS, Installation, Worker, until};
use dcm_core::port::clock::Seeded;
use dcm_testenv::{Environment, Standalone};
use proof::{assert_all_have_the_same, assert_fences_grow, is_nothing_left, owners};
use serde_json::{Value, json};
use tokio::runtime::Handle;

/// So short that clusters are taken over while workers go on dying.
const SHORT: &str = "2s";

/// So long that nothing is taken over in a test: what is handed over was given back.
const LONG: &str = "10m";

/// How many workers there are.
const WORKERS: usize = 3;

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

/// Every second one of the workers dies and another one starts, while somebody else works.
fn storm(installation: &Installation<'_>, seconds: u64, work: impl FnOnce() + Send) -> Vec<Worker> {
    let mut workers: Vec<Worker> = (0..WORKERS).map(|_| installation.serve_with_lease(SHORT)).collect();
    let (random, runtime) = (Seeded::new(seconds), Handle::current());
    let mut rage = || {
        for _ in 0..seconds {
            runtime.block_on(tokio::time::sleep(Duration::from_secs(1)));
            let victim = usize::try_from(random.below(WORKERS as u64)).unwrap();
            // One that is dropped is killed.
            workers[victim] = installation.serve_with_lease(SHORT);
        }
    };
    tokio::task::block_in_place(|| {
        thread::scope(|scope| {
            scope.spawn(work);
            rage();
        });
    });
    workers
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
async fn survives_a_storm(installation: &Installation<'_>, prefix: &str, count: usize, seconds: u64) {
    let since = installation.moment();
    let workers = storm(installation, seconds, || {
        for number in 1..=count {
            installation.hand_over(&document(installation, &cloud(number, prefix), 10));
        }
    });
    all_done(installation, count).await;
    assert_all_have_the_same(installation, prefix, count).await;
    drop(workers);
    let workers = storm(installation, seconds / 4, || {
        for number in 1..=count {
            installation.person.run(["terminate", &cloud(number, prefix), "--no-wait"]).done();
        }
    });
    until("nothing to be left", async || is_nothing_left(installation, prefix).await.then_some(())).await;
    drop(workers);
    assert_fences_grow(installation, &since);
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_clouds_in_etcd_are_finished_by_workers_that_die_every_second() {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let etcd = Standalone::etcd().await.unwrap();
    let installation = kept_at(&environment, "storm-etcd", format!("etcd://{}", etcd.address()));
    survives_a_storm(&installation, "storm-etcd", 60, 20).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clouds_in_mongodb_are_finished_by_workers_that_die_every_second() {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let mongodb = Standalone::mongodb().await.unwrap();
    let installation = kept_at(&environment, "storm-mongodb", format!("mongodb://{}", mongodb.address()));
    survives_a_storm(&installation, "storm-mongodb", 6, 8).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clouds_in_sqlite_are_finished_by_workers_that_die_every_second() {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "storm-sqlite");
    survives_a_storm(&installation, "storm-sqlite", 6, 8).await;
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
    installation.person.run(["terminate", name, "--timeout", "60s"]).done();
    other.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_on_each_kind_of_store_share_and_hand_over_at_once() {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let (etcd, mongodb) = (Standalone::etcd().await.unwrap(), Standalone::mongodb().await.unwrap());
    hands_over(&Installation::new(&environment, "share-sqlite"), "share-sqlite").await;
    let in_etcd = kept_at(&environment, "share-etcd", format!("etcd://{}", etcd.address()));
    hands_over(&in_etcd, "share-etcd").await;
    let in_mongodb = kept_at(&environment, "share-mongodb", format!("mongodb://{}", mongodb.address()));
    hands_over(&in_mongodb, "share-mongodb").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_stood_still_for_longer_than_its_lease_does_no_harm() {
    const NAME: &str = "frozen";
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let etcd = Standalone::etcd().await.unwrap();
    let installation = kept_at(&environment, NAME, format!("etcd://{}", etcd.address()));
    let since = installation.moment();
    let workers = [installation.serve_with_lease(SHORT), installation.serve_with_lease(SHORT)];
    installation.hand_over(&document(&installation, NAME, 10));
    all_done(&installation, 1).await;
    until("two workers that share", async || (owners(&installation) == [1, 2]).then_some(())).await;
    for frozen in &workers {
        frozen.signal("STOP");
        installation.hand_over(&document(&installation, NAME, 20));
        until("the other to have them all", async || (owners(&installation) == [CLUSTERS]).then_some(()))
            .await;
        all_done(&installation, 1).await;
        frozen.signal("CONT");
        installation.hand_over(&document(&installation, NAME, 30));
        all_done(&installation, 1).await;
        until("two workers that share again", async || (owners(&installation) == [1, 2]).then_some(())).await;
    }
    assert_fences_grow(&installation, &since);
    installation.person.run(["terminate", NAME, "--timeout", "60s"]).done();
    workers.into_iter().for_each(Worker::stop);
}
