//! Keys are changed while workers go on, on each kind of store, and on two at once.

use std::thread;

use dcm_testenv::effort::{budget, leaves_out};
use dcm_testenv::{Environment, Standalone};
use serde_json::Value;

use crate::common::User;
use crate::common::installation::{CLUSTERS, Installation, Worker, until};
use crate::workers::proof::{assert_all_have_the_same, is_nothing_left};
use crate::workers::{SHORT, all_done, cloud, document, kept_at};

/// Returns how many clouds are made meanwhile.
fn clouds() -> usize {
    budget("rekeying", 2, 4)
}

/// Makes a new key again and again while clouds are made, and forgets the earlier ones each time: all is made, and can be read.
/// Documents are sealed with no earlier key in any of the stores.
async fn loses_nothing(installation: &Installation<'_>, prefix: &str, stores: &[&str]) {
    let clouds = clouds();
    let workers = [installation.serve_with_lease(SHORT), installation.serve_with_lease(SHORT)];
    let mut keys = 1;
    let mut rekey = || {
        let rekey = ["store", "rekey", "--forget-earlier", "--settle", "3s", "-o", "json"];
        let report = installation.person.run(rekey).done();
        let report: Value = serde_json::from_str(&report).unwrap();
        keys += 1;
        assert_eq!(report["current"], format!("k{keys}"));
    };
    tokio::task::block_in_place(|| {
        thread::scope(|scope| {
            let making = scope.spawn(|| {
                for number in 1..=clouds {
                    installation.hand_over(&document(installation, &cloud(number, prefix), 10));
                }
            });
            while !making.is_finished() {
                rekey();
            }
        });
    });
    all_done(installation, clouds).await;
    rekey();
    assert_all_have_the_same(installation, prefix, clouds).await;
    for number in 1..=clouds {
        let given = installation.person.run(["kubeconfig", &cloud(number, prefix), "--user", "ann"]).done();
        assert!(given.contains("client-certificate-data"), "{given}");
    }
    for store in stores {
        let sealed = installation.person.run(["store", "export", "--store", store]).done();
        let of_others = (1..keys).find(|key| sealed.contains(&format!("\"key\":\"k{key}\"")));
        let is_of_latest = sealed.contains(&format!("\"key\":\"k{keys}\""));
        assert!(of_others.is_none() && is_of_latest, "{store}: {of_others:?}");
    }
    for number in 1..=clouds {
        installation.person.run(["terminate", &cloud(number, prefix), "--no-wait"]).done();
    }
    until("nothing to be left", async || is_nothing_left(installation, prefix).await.then_some(())).await;
    workers.into_iter().for_each(Worker::stop);
    installation.person.run(["store", "check"]).done();
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_changed_beside_workers_on_each_kind_of_store() {
    let environment = Environment::group("workers", CLUSTERS).await.unwrap();
    let in_file = Installation::new(&environment, "keys-sqlite");
    let file = format!("sqlite:{}", in_file.person.home().join(".local/share/dcm/store.db").display());
    loses_nothing(&in_file, "keys-sqlite", &[&file]).await;
    let etcd = Standalone::etcd().await.unwrap();
    let store = format!("etcd://{}?timeout=60", etcd.address());
    loses_nothing(&kept_at(&environment, "keys-etcd", store.clone()), "keys-etcd", &[&store]).await;
    if leaves_out("keys that are changed beside workers, on MongoDB alone") {
        return;
    }
    let mongodb = Standalone::mongodb().await.unwrap();
    let store = format!("mongodb://{}?timeout=60", mongodb.address());
    loses_nothing(&kept_at(&environment, "keys-mongodb", store.clone()), "keys-mongodb", &[&store]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_changed_beside_workers_in_the_store_of_documents_and_in_that_of_app_contexts() {
    const NAME: &str = "keys-both";
    let environment = Environment::group("workers", CLUSTERS).await.unwrap();
    let servers = (Standalone::etcd().await.unwrap(), Standalone::mongodb().await.unwrap());
    let (etcd, mongodb) = (
        format!("etcd://{}?timeout=60", servers.0.address()),
        format!("mongodb://{}?timeout=60", servers.1.address()),
    );
    let both = [("DCM_STORE", mongodb.clone()), ("DCM_CONTEXTS_STORE", etcd.clone())];
    let installation = Installation::of(&environment, NAME, User::with(both));
    loses_nothing(&installation, NAME, &[&mongodb, &etcd]).await;
}
