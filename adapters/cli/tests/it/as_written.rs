//! Manifests as kubectl writes them, and objects that Kubernetes removes by itself, on a real API server.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use dcm_testenv::{Cluster, Environment};
use serde_json::{Value, json};

use crate::common::installation::{Installation, kubectl, until, until_served};

/// One is enough: each case is about what one API server stores.
const CLUSTERS: usize = 1;

/// What kubectl writes where it is to create something.
fn created(cluster: &Cluster, arguments: &[&str]) -> Value {
    let more = ["--dry-run=client", "-o", "json"];
    let text = kubectl(cluster, &[&["create"], arguments, &more[..]].concat());
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn manifests_that_kubectl_writes_are_applied_as_they_are() {
    let environment = Environment::group("as_written", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "as-written");
    let [cluster] = installation.clusters() else { panic!() };
    let commands: [&[&str]; 8] = [
        &["configmap", "settings", "--from-literal=a=b"],
        &["service", "externalname", "db", "--external-name=db.example.com"],
        &["job", "once", "--image=example.com/once:1"],
        &["cronjob", "nightly", "--image=example.com/nightly:1", "--schedule=0 3 * * *"],
        &["service", "clusterip", "web", "--tcp=80:8080"],
        &["ingress", "web", "--rule=web.example.com/*=web:80"],
        &["poddisruptionbudget", "web", "--selector=app=web", "--min-available=1"],
        &["serviceaccount", "robot"],
    ];
    let mut manifests: Vec<Value> = commands.iter().map(|command| created(cluster, command)).collect();
    // Older ones write what only the API server writes, with nothing in it; so do generators.
    for manifest in &mut manifests {
        let metadata = manifest["metadata"].as_object_mut().unwrap();
        metadata.insert("creationTimestamp".to_owned(), Value::Null);
        metadata.insert("generation".to_owned(), json!(0));
        metadata.insert("selfLink".to_owned(), json!(""));
        manifest["status"] = json!({"loadBalancer": {}, "conditions": null});
    }
    let spec = json!({"users": [{"name": "ann"}], "manifests": manifests});
    let document = installation.document("as-written", spec);
    let applied = installation.apply(&document);
    assert!(!applied.err.contains("status"), "{applied:#?}");
    applied.done();
    for kind in [
        "configmap/settings",
        "service/db",
        "job/once",
        "cronjob/nightly",
        "service/web",
        "ingress/web",
        "poddisruptionbudget/web",
        "serviceaccount/robot",
    ] {
        kubectl(cluster, &["--namespace", "as-written", "get", kind, "-o", "name"]);
    }
    // Nothing differs from what the API server made of them.
    let before = installation.moment();
    installation.apply(&document).done();
    assert_eq!(installation.writes(&before), [Vec::<String>::new()]);

    // A status that the API server wrote is left out, with a warning; an identity is refused.
    let text = kubectl(cluster, &["--namespace", "as-written", "get", "service/web", "-o", "json"]);
    let read: Value = serde_json::from_str(&text).unwrap();
    let mut with_status = document.clone();
    with_status["spec"]["manifests"][0]["status"] = json!({"seen": "yes"});
    let applied = installation.apply(&with_status);
    assert!(applied.err.contains("spec.manifests[0].status"), "{applied:#?}");
    applied.done();
    let mut with_identity = document;
    with_identity["spec"]["manifests"][4] = read;
    let refused = installation.apply(&with_identity).ended_with(3);
    assert!(refused.contains("metadata.uid") || refused.contains("metadata.resourceVersion"), "{refused}");
}

#[tokio::test]
async fn a_finished_job_that_kubernetes_removed_is_not_made_again_until_its_manifest_changes() {
    let environment = Environment::group("as_written", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "over");
    let [cluster] = installation.clusters() else { panic!() };
    let job = |image: &str| {
        let containers = json!([{"name": "main", "image": image}]);
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": {
            "ttlSecondsAfterFinished": 0, "template": {"spec": {"restartPolicy": "Never", "containers": containers}}}})
    };
    let document = |image: &str| {
        let spec = json!({"users": [{"name": "ann"}], "manifests": [job(image)]});
        installation.document("over", spec)
    };
    let jobs = || kubectl(cluster, &["--namespace", "over", "get", "jobs", "-o", "name"]);
    let finish = async || {
        let at = "2026-01-01T00:00:00Z";
        let condition = |name: &str| json!({"type": name, "status": "True", "lastTransitionTime": at, "lastProbeTime": at});
        let status = json!({"status": {"startTime": at, "completionTime": at, "succeeded": 1,
            "uncountedTerminatedPods": {}, "conditions": [condition("SuccessCriteriaMet"), condition("Complete")]}});
        let patch =
            ["patch", "job", "once", "--subresource=status", "--type=merge", "--patch", &status.to_string()];
        kubectl(cluster, &[&["--namespace", "over"], &patch[..]].concat());
        until("a Job that Kubernetes removed", async || jobs().is_empty().then_some(())).await;
    };
    installation.apply(&document("example.com/once:1")).done();
    assert!(jobs().contains("job"), "{}", jobs());
    finish().await;
    let before = installation.moment();
    installation.apply(&document("example.com/once:1")).done();
    installation.person.run(["reconcile", "over"]).done();
    assert_eq!((jobs().as_str(), installation.writes(&before)), ("", vec![Vec::new()]));
    assert_eq!(installation.lane("over", cluster)["state"], "done");

    installation.apply(&document("example.com/once:2")).done();
    assert!(jobs().contains("job"), "{}", jobs());
    finish().await;
    // A worker does not make it again, either.
    let worker = installation.serve();
    until_served(&installation.person, &document("example.com/once:2").to_string()).await;
    let before = installation.moment();
    installation.person.run(["reconcile", "over"]).done();
    worker.stop();
    assert_eq!((jobs().as_str(), installation.writes(&before)), ("", vec![Vec::new()]));
}
