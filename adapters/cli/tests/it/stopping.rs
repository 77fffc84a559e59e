//! The work on one cluster is paused, on real API servers.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use crate::common;

use common::installation::{Installation, kubectl, registered, until};
use dcm_testenv::{Cluster, Environment};
use serde_json::{Value, json};

/// One is stopped, one goes on.
const CLUSTERS: usize = 2;

const CLOUD: &str = "stopped";

fn has_quota(cluster: &Cluster) -> bool {
    !kubectl(cluster, &["get", "quota", "-n", CLOUD, "-o", "name"]).is_empty()
}

fn delete_quota(cluster: &Cluster) {
    kubectl(cluster, &["delete", "quota", "--all", "-n", CLOUD]);
}

/// Whether the work on each cluster is paused, as it is shown.
fn stopped(installation: &Installation<'_>) -> Vec<Value> {
    let shown = installation.person.run(["cluster", "list", "-o", "json"]).done();
    let shown: Vec<Value> = serde_json::from_str(&shown).unwrap();
    shown.into_iter().map(|mut one| one["stopped"].take()).collect()
}

#[tokio::test]
async fn a_stopped_cluster_hears_nothing_until_it_is_resumed() {
    let environment = Environment::group("stopping", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, CLOUD);
    let quotas = json!([{"name": "compute", "hard": {"pods": 10}}]);
    let document = installation.document(CLOUD, json!({"users": [{"name": "ann"}], "quotas": quotas}));
    let worker = installation.served(&document).await;
    installation.apply(&document).done();
    let [one, other] = installation.clusters() else { panic!("two clusters") };

    installation.person.run(["cluster", "stop", &registered(one)]).done();
    let since = installation.moment();
    assert_eq!(stopped(&installation), [true, false]);
    [one, other].into_iter().for_each(delete_quota);
    until("the quota of the other cluster", async || has_quota(other).then_some(())).await;
    assert_eq!(installation.requests(&since)[0], Vec::<String>::new());
    assert!(!has_quota(one));

    installation.person.run(["cluster", "resume", &registered(one)]).done();
    until("the quota of the cluster that was stopped", async || has_quota(one).then_some(())).await;
    assert_eq!(stopped(&installation), [false, false]);
    let missing = installation.person.run(["cluster", "stop", "real/nowhere"]);
    assert_eq!(missing.code, 6, "{missing:#?}");
    installation.terminate(CLOUD).done();
    worker.stop();
}
