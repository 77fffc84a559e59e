//! Attacks g and k, ended: `--remove-others-bindings` takes away what other clients bound to the identities of a cloud, by an engine that
//! has the least role, under the guard.

use dcm_testenv::{Cluster, Environment};
use serde_json::{Value, json};

use crate::attacks::attacker::Attacker;
use crate::attacks::victims::{RBAC, Victim, cloud, identity};
use crate::common::confined::Confined;
use crate::common::installation::{Installation, kubectl, make, registered, timeout};

/// The role that the tenant binds: one of its own, as that of the cloud goes with it.
const THEIRS: &str = "theirs";

/// The kind of bindings, as the command names it.
const KIND: &str = "RoleBinding.rbac.authorization.k8s.io";

/// A user that has what the role of a cloud gives, so that it may bind that role.
fn meddler(environment: &Environment, cloud: &str) -> Attacker {
    let rights = json!([
        {"apiGroups": [RBAC], "resources": ["rolebindings", "roles"], "verbs": ["create", "get", "patch"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
    ]);
    Attacker::new(environment, &environment.clusters()[0], &format!("{cloud}-user"), &rights)
}

fn user(name: &str) -> Value {
    json!({"apiGroup": RBAC, "kind": "User", "name": name})
}

/// Makes a Role, and a RoleBinding of it with these subjects.
fn bind(attacker: &Attacker, namespace: &str, subjects: &Value) {
    let metadata = json!({"name": THEIRS, "namespace": namespace});
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    attacker.create(
        &json!({"apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": metadata, "rules": rules}),
    );
    attacker.create(&json!({"apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding", "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": THEIRS}, "subjects": subjects}));
}

/// The names that a RoleBinding binds; empty for one that does not exist.
fn bound(cluster: &Cluster, namespace: &str) -> String {
    let path = "jsonpath={.subjects[*].name}";
    kubectl(cluster, &["get", "rolebinding", THEIRS, "-n", namespace, "--ignore-not-found", "-o", path])
}

/// A termination that keeps the namespace removes the binding that a tenant made there.
async fn ends_with_the_cloud(cloud_name: &str, name: &str, is_served: bool, is_held: bool) {
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, cloud_name, Confined::Standard);
    let (cluster, person) = (&environment.clusters()[0], &installation.person);
    let attacker = meddler(&environment, cloud_name);
    let document = cloud(&installation, cloud_name, 10, &[]);
    let worker = if is_served { Some(installation.served(&document).await) } else { None };
    installation.apply(&document).done();
    let victim = Victim::new(&environment, &installation, cloud_name, name).await;
    bind(&attacker, cloud_name, &json!([user(&identity(cluster, cloud_name, name))]));
    let binding = ["rolebinding", THEIRS, "-n", cloud_name];
    if is_held {
        attacker.hold(&binding, true);
    }
    let ran = person.run(["terminate", cloud_name, "--remove-others-bindings", "--timeout", &timeout()]);
    assert!(ran.code == 0 && !ran.err.contains("give"), "{ran:#?}");
    assert!(ran.err.contains("kept: it holds"), "the Role is theirs, too: {ran:#?}");
    assert_eq!(bound(cluster, cloud_name), "");
    victim.loses_them().await;
    if is_held {
        attacker.hold(&binding, false);
    }
    kubectl(cluster, &["delete", "namespace", cloud_name, "--wait=false"]);
    if let Some(worker) = worker {
        worker.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_k_a_binding_of_a_certificate_user_in_a_namespace_that_is_kept_is_removed() {
    ends_with_the_cloud("ended-k-alone", "ann", false, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_k_a_held_binding_of_a_certificate_user_in_a_namespace_that_is_kept_is_removed_by_a_worker() {
    ends_with_the_cloud("ended-k-held", "ann", true, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_k_a_binding_in_another_namespace_is_named_after_a_termination_and_removed_on_request() {
    const CLOUD: &str = "ended-k-elsewhere";
    const ELSEWHERE: &str = "ended-k-another";
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let (cluster, person) = (&environment.clusters()[0], &installation.person);
    let attacker = meddler(&environment, CLOUD);
    make(cluster, &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ELSEWHERE}}));
    installation.apply(&cloud(&installation, CLOUD, 10, &[])).done();
    bind(&attacker, ELSEWHERE, &json!([user(&identity(cluster, CLOUD, "ann")), user("eve")]));
    let ran = installation.terminate(CLOUD);
    let named =
        format!("{}: {KIND} {ELSEWHERE}/{THEIRS} of another client still gives rights", registered(cluster));
    assert!(ran.code == 0 && ran.err.contains(&named), "{ran:#?}");
    let ran = person.run(["terminate", CLOUD, "--remove-others-bindings", "--timeout", &timeout()]);
    let removed = format!("{}: removed the rights of {KIND} {ELSEWHERE}/{THEIRS}", registered(cluster));
    assert!(ran.code == 0 && ran.err.contains(&removed), "{ran:#?}");
    assert_eq!(bound(cluster, ELSEWHERE), "eve");
    let audit = person.run(["audit", "-o", "json"]).done();
    assert!(audit.contains("remove-bindings"), "{audit}");
    kubectl(cluster, &["delete", "namespace", ELSEWHERE, "--wait=false"]);
}

/// A revocation removes the identity of a user from a binding in the cloud's namespace, and leaves the other subject.
async fn ends_with_a_revocation(cloud_name: &str, name: &str, is_served: bool) {
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, cloud_name, Confined::Standard);
    let (cluster, person) = (&environment.clusters()[0], &installation.person);
    let attacker = meddler(&environment, cloud_name);
    let document = cloud(&installation, cloud_name, 10, &[]);
    let worker = if is_served { Some(installation.served(&document).await) } else { None };
    installation.apply(&document).done();
    let victim = Victim::new(&environment, &installation, cloud_name, name).await;
    let identity = identity(cluster, cloud_name, name);
    let subject =
        if name == "ci" { json!({"kind": "ServiceAccount", "name": identity}) } else { user(&identity) };
    bind(&attacker, cloud_name, &json!([subject, user("eve")]));
    let revoke = ["user", "revoke", cloud_name, name, "--remove-others-bindings", "-o", "json", "--timeout"];
    let report = person.run([&revoke[..], &[&timeout()]].concat()).done();
    let report: Value = serde_json::from_str(&report).unwrap();
    let on = &report["clusters"][registered(cluster)];
    assert_eq!(
        (&on["bindingsRemoved"][0]["name"], &on["bindings"]),
        (&json!(THEIRS), &Value::Null),
        "{on:#}"
    );
    assert_eq!(bound(cluster, cloud_name), "eve");
    victim.loses_them().await;
    person.run(["terminate", cloud_name, "--delete-contents", "--timeout", &timeout()]).done();
    if let Some(worker) = worker {
        worker.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_g_a_binding_of_a_certificate_user_is_removed_with_a_revocation() {
    ends_with_a_revocation("ended-g-user", "ann", false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_g_a_binding_of_an_account_is_removed_with_a_revocation_with_a_worker() {
    ends_with_a_revocation("ended-g-account", "ci", true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_g_a_binding_that_the_guard_does_not_let_us_change_is_named_and_the_command_says_so() {
    const CLOUD: &str = "ended-g-guarded";
    const ELSEWHERE: &str = "ended-g-another";
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Standard);
    let (cluster, person) = (&environment.clusters()[0], &installation.person);
    let attacker = meddler(&environment, CLOUD);
    make(cluster, &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ELSEWHERE}}));
    installation.apply(&cloud(&installation, CLOUD, 10, &[])).done();
    bind(&attacker, ELSEWHERE, &json!([user(&identity(cluster, CLOUD, "ann"))]));
    let ran =
        person.run(["user", "revoke", CLOUD, "ann", "--remove-others-bindings", "--timeout", &timeout()]);
    let refused = format!("not removed: {KIND} {ELSEWHERE}/{THEIRS}");
    assert!(ran.code == 5 && ran.out.contains(&refused), "{ran:#?}");
    assert!(bound(cluster, ELSEWHERE).contains(":ann:"));
    installation.terminate(CLOUD).done();
    kubectl(cluster, &["delete", "namespace", ELSEWHERE, "--wait=false"]);
}
