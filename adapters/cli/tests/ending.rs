//! Taking a logical cloud off real API servers always ends, whatever is in the way.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::time::Duration;

use common::OWNED_KINDS;
use common::installation::{CLUSTERS, Installation, kubectl, make, registered, until};
use dcm_testenv::{Cluster, Environment, Fault, Route};
use jiff::Timestamp;
use serde_json::{Value, json};

/// The cluster that a test lets fail.
const BROKEN: usize = 1;

/// By when the first request comes after a cluster has returned.
const FOUND: Duration = Duration::from_secs(5);

/// By when a cluster is cleared after it has returned.
const CLEARED: Duration = Duration::from_secs(30);

fn document(installation: &Installation<'_>, name: &str) -> Value {
    let look = json!({"name": "look", "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
    let users = json!([{"name": "ann"}, {"name": "ci", "type": "token"}]);
    installation.document(name, json!({"users": users, "permissions": [look]}))
}

fn namespaces(cluster: &Cluster, name: &str) -> String {
    kubectl(cluster, &["get", "namespace", name, "--ignore-not-found", "-o", "name"])
}

/// What of a cloud is in its namespace on a cluster.
fn owned(cluster: &Cluster, name: &str) -> String {
    let kinds = OWNED_KINDS.replace("namespaces,", "").replace(",clusterroles,clusterrolebindings", "");
    let kinds = kinds.replace(",certificatesigningrequests", "");
    kubectl(cluster, &["get", &kinds, "-n", name, "-l", "dcm.internal/owner", "-o", "name"])
}

#[tokio::test]
async fn a_cluster_that_is_cut_off_is_given_up_at_the_deadline_and_cleared_when_it_returns() {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let route = |place| if place == BROKEN { Route::Proxy } else { Route::Direct };
    let installation = Installation::by(&environment, "abandoned", route);
    let broken = &installation.clusters()[BROKEN];
    installation.apply(&document(&installation, "abandoned")).done();
    broken.proxy().set(Fault::Cut).await.unwrap();
    let worker = installation.serve();

    let asked = Timestamp::now();
    let ran = installation.person.run(["terminate", "abandoned", "--deadline", "8s"]);
    assert!(ran.code == 7 && ran.out.contains("terminated  2/3"), "{ran:#?}");
    assert!(ran.err.contains(&format!("given up at the deadline: {}", registered(broken))), "{}", ran.err);
    assert!(Timestamp::now().duration_since(asked).unsigned_abs() < Duration::from_secs(25));
    let lane = installation.lane("abandoned", broken);
    assert_eq!((&lane["state"], &lane["cause"]["reason"]), (&json!("abandoned"), &json!("unreachable")));
    for place in [0, 2] {
        assert_eq!(namespaces(&installation.clusters()[place], "abandoned"), "");
    }
    installation.person.run(["delete", "abandoned"]).done();
    let kept = installation.person.run(["cluster", "remove", &registered(broken)]).ended_with(5);
    assert!(kept.contains("which is cleared when it returns"), "{kept}");

    let since = installation.moment();
    let returned = Timestamp::now();
    broken.proxy().pass().await.unwrap();
    let first = until("a request to the cluster that returned", async || {
        installation.events(&since)[BROKEN].iter().map(|event| event.request_received).min()
    })
    .await;
    assert!(first.duration_since(returned).unsigned_abs() <= FOUND, "{first} after {returned}");
    until("the cluster to be cleared", async || namespaces(broken, "abandoned").is_empty().then_some(()))
        .await;
    assert!(Timestamp::now().duration_since(returned).unsigned_abs() <= CLEARED);
    until("the tombstone to go", async || {
        let ran = installation.person.run(["cluster", "remove", &registered(broken)]);
        (ran.code == 0).then_some(())
    })
    .await;
    worker.stop();
}

#[tokio::test]
async fn a_finalizer_of_somebody_else_is_named_and_everything_else_is_gone() {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "held");
    let broken = &installation.clusters()[BROKEN];
    installation.apply(&document(&installation, "held")).done();
    let held = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "theirs", "namespace": "held", "finalizers": ["example.com/hold"]}});
    make(broken, &held);

    let ran = installation.person.run(["terminate", "held", "--delete-contents", "--deadline", "15s"]);
    assert!(ran.code == 7 && ran.out.contains("terminated  2/3"), "{ran:#?}");
    let lane = installation.lane("held", broken);
    assert_eq!(
        (&lane["state"], &lane["cause"]["object"]["kind"]),
        (&json!("abandoned"), &json!("Namespace")),
        "{lane:#}"
    );
    let told = lane["cause"]["message"].as_str().unwrap();
    for words in ["NamespaceFinalizersRemaining", "example.com/hold in 1 resource instances", "configmaps."] {
        assert!(told.contains(words), "{told}");
    }
    assert_eq!(owned(broken, "held"), "");
    for place in [0, 2] {
        assert_eq!(namespaces(&installation.clusters()[place], "held"), "");
    }
    let free = r#"{"metadata":{"finalizers":null}}"#;
    kubectl(broken, &["patch", "configmap", "theirs", "-n", "held", "--type", "merge", "-p", free]);
    installation.terminate("held").done();
    assert_eq!(namespaces(broken, "held"), "");
}

#[tokio::test]
async fn objects_that_are_to_be_kept_stay_without_our_marks() {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "kept");
    installation.apply(&document(&installation, "kept")).done();
    installation.person.run(["terminate", "kept", "--keep-objects"]).done();
    for cluster in installation.clusters() {
        assert_eq!(owned(cluster, "kept"), "");
        let roles = kubectl(cluster, &["get", "roles", "-n", "kept", "-o", "json", "--show-managed-fields"]);
        let roles: Value = serde_json::from_str(&roles).unwrap();
        let metadata = &roles["items"][0]["metadata"];
        assert!(metadata["name"].is_string() && !metadata.to_string().contains("dcm"), "{metadata:#}");
        kubectl(cluster, &["delete", "namespace", "kept", "--wait=false"]);
    }
}
