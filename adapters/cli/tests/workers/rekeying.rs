//! Keys are changed while workers go on, on each kind of store.

use std::thread;

use dcm_testenv::{Environment, Standalone};
use serde_json::Value;

use crate::common::installation::{CLUSTERS, Installation, Worker, until};
use crate::proof::{assert_all_have_the_same, is_nothing_left};
use crate::{SHORT, all_done, cloud, document, kept_at};

/// How many clouds are made meanwhile.
const CLOUDS: usize = 4;

/// Makes a new key again and again while clouds are made, and forgets the earlier ones each time: all is made, and can be read.
async fn loses_nothing(installation: &Installation<'_>, prefix: &str) {
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
                for number in 1..=CLOUDS {
                    installation.hand_over(&document(installation, &cloud(number, prefix), 10));
                }
            });
            while !making.is_finished() {
                rekey();
            }
        });
    });
    all_done(installation, CLOUDS).await;
    rekey();
    assert_all_have_the_same(installation, prefix, CLOUDS).await;
    for number in 1..=CLOUDS {
        let given = installation.person.run(["kubeconfig", &cloud(number, prefix), "--user", "ann"]).done();
        assert!(given.contains("client-certificate-data"), "{given}");
    }
    let sealed = installation.person.run(["store", "export"]).done();
    let of_others = (1..keys).find(|key| sealed.contains(&format!("\"key\":\"k{key}\"")));
    assert!(of_others.is_none() && sealed.contains(&format!("\"key\":\"k{keys}\"")), "{of_others:?}");
    for number in 1..=CLOUDS {
        installation.person.run(["terminate", &cloud(number, prefix), "--no-wait"]).done();
    }
    until("nothing to be left", async || is_nothing_left(installation, prefix).await.then_some(())).await;
    workers.into_iter().for_each(Worker::stop);
    installation.person.run(["store", "check"]).done();
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_changed_beside_workers_on_each_kind_of_store() {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let (etcd, mongodb) = (Standalone::etcd().await.unwrap(), Standalone::mongodb().await.unwrap());
    loses_nothing(&Installation::new(&environment, "keys-sqlite"), "keys-sqlite").await;
    let in_etcd = kept_at(&environment, "keys-etcd", format!("etcd://{}", etcd.address()));
    loses_nothing(&in_etcd, "keys-etcd").await;
    let in_mongodb = kept_at(&environment, "keys-mongodb", format!("mongodb://{}", mongodb.address()));
    loses_nothing(&in_mongodb, "keys-mongodb").await;
}
