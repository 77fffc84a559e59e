//! Causes that name the object, what was asked of it and what to do, on a real API server.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use dcm_testenv::Environment;
use serde_json::{Value, json};

use crate::common::Ran;
use crate::common::installation::{Installation, make, until};

/// One is enough: each case is about one request to one API server.
const CLUSTERS: usize = 1;

#[tokio::test]
async fn a_cause_names_the_object_what_was_asked_of_it_and_what_to_do() {
    let environment = Environment::group("named", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "named");
    let [cluster] = installation.clusters() else { panic!() };
    // No right of the engine is about these.
    let scaler = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "one"},
        "spec": {"maxReplicas": 2, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "one"}, "spec": {"ports": [{"port": 0}]}});
    let settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}});
    let fox = json!({"apiVersion": "absent.example.com/v1", "kind": "Fox", "metadata": {"name": "one"}});
    make(cluster, &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "named-taken"}}));
    let with = |manifest: &Value| json!({"users": [{"name": "ann"}], "manifests": [manifest]});
    let mut counted =
        json!({"users": [{"name": "ann"}], "quotas": [{"name": "none", "hard": {"count/configmaps": 0}}]});
    // An API server counts some time after it has a quota.
    installation.apply(&installation.document("named-count", counted.clone())).done();
    until("a quota in force", async || {
        let create = ["--namespace", "named-count", "create", "configmap", "tried", "--dry-run=server"];
        let tried = Ran::of(cluster.kubectl().args(create).output().unwrap());
        tried.err.contains("exceeded quota").then_some(())
    })
    .await;
    counted["manifests"] = json!([settings]);
    let cases: [(&str, Value, &[&str]); 5] = [
        (
            "named-kind",
            with(&fox),
            &[
                "Fox.absent.example.com named-kind/one: unknown-kind: ",
                "(create): define the kind on the cluster",
            ],
        ),
        (
            "named-right",
            with(&scaler),
            &[
                "watching autoscaling/v2 HorizontalPodAutoscaler",
                "give the engine the right",
                "dcm cluster check",
            ],
        ),
        (
            "named-rule",
            with(&service),
            &["Service named-rule/one: invalid: ", "(create): change the document", "spec.ports[0].port"],
        ),
        ("named-count", counted, &["ConfigMap named-count/one: ", "exceeded quota: none", "(create)"]),
        ("named-taken", json!({"users": [{"name": "ann"}]}), &["Namespace named-taken", "foreign"]),
    ];
    for (name, spec, expected) in cases {
        let ran = installation.apply(&installation.document(name, spec));
        assert_eq!(ran.code, 5, "{name}: {ran:#?}");
        let status = installation.person.run(["status", name]);
        for words in expected {
            assert!(
                ran.err.contains(words) || status.out.contains(words),
                "{name}: {words}: {ran:#?}\n{status:#?}"
            );
        }
        // Whatever is in the way of what is wanted is in no way of its end.
        installation.terminate(name).done();
    }
}
