//! Labels and annotations that a tenant writes on objects of its cloud.

use dcm_core::port::cluster::{ANNOTATION_GENERATION, LABEL_OWNER};
use dcm_testenv::{Cluster, Environment};
use serde_json::{Value, json};

use crate::attacks::attacker::Attacker;
use crate::attacks::environment;
use crate::common::installation::{Installation, kubectl, registered, timeout, until};

/// What a tenant has who may edit roles and bindings of its cloud, and ConfigMaps.
fn tenant<'a>(environment: &'a Environment, cluster: &'a Cluster, name: &str) -> Attacker {
    let group = "rbac.authorization.k8s.io";
    let rules = json!([
        {"apiGroups": [group], "resources": ["roles", "rolebindings"], "verbs": ["get", "patch"]},
        // Kubernetes asks for these of a client that changes a role, or a binding, with more rights than its own.
        {"apiGroups": [group], "resources": ["roles"], "verbs": ["escalate", "bind"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]},
    ]);
    Attacker::new(environment, cluster, name, &rules)
}

fn document(installation: &Installation<'_>, cloud: &str) -> Value {
    installation.document(
        cloud,
        json!({
            "users": [{"name": "bot", "type": "token"}, {"name": "ann", "type": "token"}],
            "permissions": [{"name": "look", "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
        }),
    )
}

/// The names of objects of a kind with our label in the cloud's namespace, such as `role.rbac.authorization.k8s.io/look`. The engine's
/// own binding has no label.
fn names(cluster: &Cluster, cloud: &str, kind: &str) -> Vec<String> {
    kubectl(cluster, &["-n", cloud, "get", kind, "-l", LABEL_OWNER, "-o", "name"])
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Everyone that a binding in the cloud's namespace names.
fn bound(cluster: &Cluster, cloud: &str) -> String {
    let path = "jsonpath={.items[*].subjects[*].name}";
    kubectl(cluster, &["-n", cloud, "get", "rolebindings", "-o", path])
}

/// Writes a generation on each role and binding of the cloud.
fn forge(attacker: &Attacker, cluster: &Cluster, cloud: &str, generation: u64) {
    let annotation = format!("{ANNOTATION_GENERATION}={generation}");
    for name in [names(cluster, cloud, "roles"), names(cluster, cloud, "rolebindings")].concat() {
        attacker.kubectl(&["-n", cloud, "annotate", "--overwrite", &name, &annotation], &Value::Null).done();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_generation_that_a_tenant_writes_hinders_no_revocation_and_no_termination() {
    const CLOUD: &str = "forged-generation";
    let environment = environment().await;
    let installation = Installation::new(&environment, CLOUD);
    let cluster = &environment.clusters()[0];
    let attacker = tenant(&environment, cluster, "forged-generation-attacker");
    installation.apply(&document(&installation, CLOUD)).done();
    let before = bound(cluster, CLOUD);
    assert!(before.contains("bot"), "{before}");

    forge(&attacker, cluster, CLOUD, 99_999_999);
    installation.person.run(["user", "revoke", CLOUD, "bot", "--timeout", &timeout()]).done();
    let after = bound(cluster, CLOUD);
    let name = before.split(' ').find(|name| name.contains("bot")).unwrap();
    assert!(!after.split(' ').any(|bound| bound == name), "{name} is still among {after}");

    forge(&attacker, cluster, CLOUD, u64::MAX);
    installation.terminate(CLOUD).done();
    let left = kubectl(cluster, &["get", "namespace", CLOUD, "--ignore-not-found", "-o", "name"]);
    assert_eq!(left, "");
    // Nor does the number stay anywhere: another cloud of that name comes about.
    installation.person.run(["delete", CLOUD]).done();
    installation.apply(&document(&installation, CLOUD)).done();
    installation.terminate(CLOUD).done();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_with_the_marks_of_ours_that_we_did_not_make_is_left_alone() {
    const CLOUD: &str = "copied-marks";
    let environment = environment().await;
    let installation = Installation::new(&environment, CLOUD);
    let cluster = &environment.clusters()[0];
    let attacker = tenant(&environment, cluster, "copied-marks-attacker");
    installation.apply(&document(&installation, CLOUD)).done();
    let role = names(cluster, CLOUD, "roles").remove(0);
    let read = attacker.kubectl(&["-n", CLOUD, "get", &role, "-o", "json"], &Value::Null).done();
    let role: Value = serde_json::from_str(&read).unwrap();
    let (labels, mut annotations) = (&role["metadata"]["labels"], role["metadata"]["annotations"].clone());
    annotations[ANNOTATION_GENERATION] = "99999999".into();
    attacker.create(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "theirs", "namespace": CLOUD, "labels": labels, "annotations": annotations}}));
    let uid = || {
        let path = "jsonpath={.metadata.uid}";
        kubectl(cluster, &["-n", CLOUD, "get", "configmap", "theirs", "--ignore-not-found", "-o", path])
    };
    let made = uid();
    assert!(!made.is_empty());
    let mut changed = document(&installation, CLOUD);
    changed["spec"]["quotas"] = json!([{"name": "size", "hard": {"pods": 3}}]);
    installation.apply(&changed).done();
    assert_eq!(uid(), made);
    // It counts as what the tenant put there: the namespace is kept for it.
    let terminated = installation.terminate(CLOUD);
    let kept = "has-contents: kept: it holds 1 objects of others";
    let kept = format!("{}: Namespace {CLOUD} {kept}", registered(cluster));
    assert!(terminated.code == 0 && terminated.err.contains(&kept), "{terminated:#?}");
    assert_eq!(uid(), made);
    kubectl(cluster, &["delete", "namespace", CLOUD, "--wait=false"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn marks_that_a_tenant_changes_or_takes_off_are_brought_back() {
    const CLOUD: &str = "forged-marks";
    let environment = environment().await;
    let installation = Installation::new(&environment, CLOUD);
    let cluster = &environment.clusters()[0];
    let attacker = tenant(&environment, cluster, "forged-marks-attacker");
    let document = document(&installation, CLOUD);
    let worker = installation.served(&document).await;
    installation.apply(&document).done();
    let role = names(cluster, CLOUD, "roles").remove(0);
    let marks = || {
        let read = kubectl(cluster, &["-n", CLOUD, "get", &role, "-o", "json"]);
        let mut role: Value = serde_json::from_str(&read).unwrap();
        json!([role["metadata"]["labels"].take(), role["metadata"]["annotations"].take()])
    };
    let before = marks();
    for forged in ["dcm.internal/owner-", "dcm.internal/context=another"] {
        attacker.kubectl(&["-n", CLOUD, "label", "--overwrite", &role, forged], &Value::Null).done();
        until("the labels as they were", async || (marks() == before).then_some(())).await;
    }
    forge(&attacker, cluster, CLOUD, 5);
    until("the annotations as they were", async || (marks() == before).then_some(())).await;
    worker.stop();
}
