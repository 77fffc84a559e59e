//! Attacks d, e and g: what users do to the bindings of a cloud, so that they keep rights that are taken away.

use dcm_testenv::{Cluster, Environment};
use serde_json::{Value, json};

use crate::attacks::attacker::Attacker;
use crate::attacks::victims::{OWNER, RBAC, ROLE, Victim, cloud, identity};
use crate::common::confined::Confined;
use crate::common::installation::{Installation, kubectl, registered, timeout};
use crate::common::leftovers::namespaces;
use dcm_core::port::cluster::{LABEL_CONTEXT, LABEL_OWNER};

const BINDING: &str = "look";

/// The names of all subjects of the bindings in a namespace.
fn bound(cluster: &Cluster, cloud: &str) -> String {
    kubectl(cluster, &["get", "rolebindings", "-n", cloud, "-o", "jsonpath={.items[*].subjects[*].name}"])
}

/// A user that has these rights on bindings, and what the role of a cloud gives, so that it may bind that role.
fn meddler(environment: &Environment, name: &str, verbs: &[&str]) -> Attacker {
    let rights = json!([
        {"apiGroups": [RBAC], "resources": ["rolebindings"], "verbs": verbs},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
    ]);
    Attacker::new(environment, &environment.clusters()[0], name, &rights)
}

/// Deletes the binding of a cloud, and makes another one of its name, with its marks or without.
fn replace(attacker: &Attacker, cloud: &str, keeps_marks: bool) {
    let place = ["rolebinding", BINDING, "-n", cloud];
    let mut copy = attacker.read(&place);
    let metadata = copy["metadata"].as_object_mut().unwrap();
    for member in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
        metadata.remove(member);
    }
    if !keeps_marks {
        metadata.retain(|member, _| matches!(member.as_str(), "name" | "namespace"));
    }
    attacker.kubectl(&[&["delete"][..], &place].concat(), &Value::Null).done();
    attacker.create(&copy);
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_d_a_binding_that_was_made_again_with_its_marks_is_revoked_for_a_token_user() {
    const CLOUD: &str = "attack-d-marks";
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let attacker = meddler(&environment, "attack-d-marks-user", &["get", "delete", "create"]);
    installation.apply(&cloud(&installation, CLOUD, 10, &[])).done();
    let victim = Victim::new(&environment, &installation, CLOUD, "ci").await;
    replace(&attacker, CLOUD, true);
    installation.person.run(["user", "revoke", CLOUD, "ci", "--timeout", &timeout()]).done();
    victim.loses_them().await;
    installation.terminate(CLOUD).done();
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_d_a_binding_that_was_made_again_without_marks_is_revoked_for_a_certificate_user_by_a_worker()
{
    const CLOUD: &str = "attack-d-bare";
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let attacker = meddler(&environment, "attack-d-bare-user", &["get", "delete", "create"]);
    let document = cloud(&installation, CLOUD, 10, &[]);
    installation.apply(&document).done();
    let victim = Victim::new(&environment, &installation, CLOUD, "ann").await;
    // A worker that runs meanwhile makes ours again before anyone can make another one.
    replace(&attacker, CLOUD, false);
    let worker = installation.served(&document).await;
    installation.person.run(["user", "revoke", CLOUD, "ann", "--timeout", &timeout()]).done();
    victim.loses_them().await;
    installation.terminate(CLOUD).done();
    worker.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_d_a_binding_that_was_made_again_ends_with_a_termination_that_keeps_objects() {
    const CLOUD: &str = "attack-d-kept";
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let (cluster, person) = (&environment.clusters()[0], &installation.person);
    let attacker = meddler(&environment, "attack-d-kept-user", &["get", "delete", "create"]);
    installation.apply(&cloud(&installation, CLOUD, 10, &[])).done();
    replace(&attacker, CLOUD, true);
    person.run(["terminate", CLOUD, "--keep-objects", "--timeout", &timeout()]).done();
    assert_eq!(bound(cluster, CLOUD), "");
    kubectl(cluster, &["delete", "namespace", CLOUD, "--wait=false"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_e_a_held_binding_loses_a_revoked_certificate_user() {
    const CLOUD: &str = "attack-e-revoked";
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let attacker = meddler(&environment, "attack-e-revoked-user", &["get", "patch"]);
    installation.apply(&cloud(&installation, CLOUD, 10, &[])).done();
    let victim = Victim::new(&environment, &installation, CLOUD, "ann").await;
    attacker.hold(&["rolebinding", BINDING, "-n", CLOUD], true);
    installation.person.run(["user", "revoke", CLOUD, "ann", "--timeout", &timeout()]).done();
    victim.loses_them().await;
    attacker.hold(&["rolebinding", BINDING, "-n", CLOUD], false);
    installation.terminate(CLOUD).done();
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_e_a_held_binding_that_is_removed_gives_no_rights_any_more_with_a_worker() {
    const CLOUD: &str = "attack-e-removed";
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let cluster = &environment.clusters()[0];
    let attacker = meddler(&environment, "attack-e-removed-user", &["get", "patch"]);
    let document = cloud(&installation, CLOUD, 10, &[]);
    let worker = installation.served(&document).await;
    installation.apply(&document).done();
    let victim = Victim::new(&environment, &installation, CLOUD, "ci").await;
    let binding = ["rolebinding", BINDING, "-n", CLOUD];
    attacker.hold(&binding, true);
    installation.person.run(["terminate", CLOUD, "--no-wait"]).done();
    victim.loses_them().await;
    let bound = bound(cluster, CLOUD);
    assert!(!bound.contains("ci-e1") && !bound.contains(":ann:"), "{bound}");
    attacker.hold(&binding, false);
    installation.terminate(CLOUD).done();
    assert_eq!(namespaces(cluster, CLOUD), "");
    worker.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_e_the_token_of_a_held_account_has_no_rights_after_a_revocation_with_a_worker() {
    const CLOUD: &str = "attack-e-account";
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let cluster = &environment.clusters()[0];
    let rights = json!([{"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["get", "patch"]}]);
    let attacker = Attacker::new(&environment, cluster, "attack-e-account-user", &rights);
    let document = cloud(&installation, CLOUD, 10, &[]);
    let worker = installation.served(&document).await;
    installation.apply(&document).done();
    let victim = Victim::new(&environment, &installation, CLOUD, "ci").await;
    let listed = kubectl(cluster, &["get", "serviceaccounts", "-n", CLOUD, "-o", "name"]);
    let account = listed.lines().find(|name| name.contains("/ci-")).unwrap();
    attacker.hold(&["-n", CLOUD, account], true);
    installation.person.run(["user", "revoke", CLOUD, "ci", "--no-wait"]).done();
    victim.loses_them().await;
    attacker.hold(&["-n", CLOUD, account], false);
    installation.terminate(CLOUD).done();
    worker.stop();
}

/// A revocation lists a binding that a user made for an identity, in the cloud's namespace.
async fn is_listed(cloud_name: &str, user: &str, is_served: bool, subject: impl Fn(&str) -> Value) {
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, cloud_name, Confined::Unguarded);
    let (cluster, person) = (&environment.clusters()[0], &installation.person);
    let attacker = meddler(&environment, &format!("{cloud_name}-user"), &["create"]);
    let document = cloud(&installation, cloud_name, 10, &[]);
    let worker = if is_served { Some(installation.served(&document).await) } else { None };
    installation.apply(&document).done();
    attacker.create(&json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "RoleBinding",
        "metadata": {"name": "theirs", "namespace": cloud_name, "labels": {LABEL_OWNER: OWNER, LABEL_CONTEXT: "unknown"}},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": ROLE},
        "subjects": [subject(&identity(cluster, cloud_name, user))],
    }));
    let report =
        person.run(["user", "revoke", cloud_name, user, "-o", "json", "--timeout", &timeout()]).done();
    let report: Value = serde_json::from_str(&report).unwrap();
    let found = &report["clusters"][registered(cluster)]["bindings"];
    assert_eq!((&found[0]["name"], found.as_array().unwrap().len()), (&json!("theirs"), 1), "{report:#}");
    person.run(["terminate", cloud_name, "--delete-contents", "--timeout", &timeout()]).done();
    if let Some(worker) = worker {
        worker.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_g_a_binding_of_a_certificate_user_with_our_owner_and_an_unknown_context_is_listed() {
    is_listed("attack-g-user", "ann", false, |name| json!({"apiGroup": RBAC, "kind": "User", "name": name}))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_g_a_binding_of_an_account_without_its_namespace_is_listed() {
    is_listed("attack-g-account", "ci", false, |name| json!({"kind": "ServiceAccount", "name": name})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_g_a_binding_of_an_account_under_its_user_name_is_listed_with_a_worker() {
    const CLOUD: &str = "attack-g-spelled";
    let subject = |name: &str| json!({"apiGroup": RBAC, "kind": "User", "name": format!("system:serviceaccount:{CLOUD}:{name}")});
    is_listed(CLOUD, "ci", true, subject).await;
}
