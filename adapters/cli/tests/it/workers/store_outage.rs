//! The server of the store dies in the middle of an apply and comes back: the worker goes on by itself.

use std::process::Stdio;
use std::time::Duration;

use dcm_testenv::effort::patience;
use dcm_testenv::{Environment, Route, Standalone};
use tokio::time::Instant;

use crate::common::User;
use crate::common::installation::{CLUSTERS, Installation, Worker, until};
use crate::workers::proof::{assert_all_have_the_same, is_nothing_left};
use crate::workers::{all_done, cloud, document, hear};

const PREFIX: &str = "store-outage";

/// How long a worker may do without its store.
const LEASE: Duration = Duration::from_secs(2);

/// What a worker logs each time that it asks its store for more.
const UNRENEWED: &str = "can't renew the worker's session";

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_goes_on_by_itself_when_its_etcd_was_killed_and_comes_back() {
    let environment = Environment::group("workers", CLUSTERS).await.unwrap();
    let etcd = Standalone::etcd().await.unwrap();
    let person = User::with([("DCM_STORE", format!("etcd://{}", etcd.address()))]);
    let by_proxy = |index| if index == 0 { Route::Proxy } else { Route::Direct };
    let installation = Installation::of_by(&environment, PREFIX, person, by_proxy);
    let cluster = &installation.clusters()[0];
    let (log, written) = std::io::pipe().unwrap();
    let mut serve = installation.person.command();
    serve.args(["serve", "--lease", &format!("{}s", LEASE.as_secs())]).stdout(Stdio::null()).stderr(written);
    let (worker, unrenewed) = (Worker::begin(&mut serve), hear(log, UNRENEWED));
    drop(serve);
    let (before, amid, after) = (cloud(1, PREFIX), cloud(2, PREFIX), cloud(3, PREFIX));
    installation.hand_over(&document(&installation, &before, 10));
    all_done(&installation, 1).await;

    // Done on all clusters but one, whose requests are under way.
    cluster.proxy().hang().await.unwrap();
    installation.hand_over(&document(&installation, &amid, 10));
    until("the other clusters to be done", async || {
        let mut others = installation.clusters()[1..].iter().map(|other| installation.lane(&amid, other));
        others.all(|lane| lane["state"] == "done").then_some(())
    })
    .await;
    assert_ne!(installation.lane(&amid, cluster)["state"], "done");
    etcd.kill();
    let away_since = Instant::now();
    // What is made now can not be recorded.
    cluster.proxy().pass().await.unwrap();
    let said = installation.person.run(["status", &amid]).ended_with(1);
    assert!(said.contains(&etcd.address().to_string()), "{said}");
    // Its lease has expired when it still can't renew it after the whole of it.
    tokio::task::block_in_place(|| {
        while away_since.elapsed() <= LEASE {
            unrenewed.recv_timeout(patience()).unwrap();
        }
        unrenewed.recv_timeout(patience()).unwrap();
    });

    etcd.start().await.unwrap();
    all_done(&installation, 2).await;
    installation.hand_over(&document(&installation, &after, 10));
    all_done(&installation, 3).await;
    assert_all_have_the_same(&installation, PREFIX, 3).await;
    for name in [&before, &amid, &after] {
        installation.person.run(["terminate", name, "--no-wait"]).done();
    }
    until("nothing to be left", async || is_nothing_left(&installation, PREFIX).await.then_some(())).await;
    // It is the process that began, and it ends well.
    worker.stop();
    installation.person.run(["store", "check"]).done();
}
