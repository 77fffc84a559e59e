//! Attack k: a user binds an identity of a cloud, so that the cloud's namespace is kept for its contents and the rights with it.

use dcm_testenv::Environment;
use serde_json::{Value, json};

use crate::attacks::attacker::Attacker;
use crate::attacks::victims::{RBAC, Victim, cloud, identity};
use crate::common::confined::Confined;
use crate::common::installation::{Installation, kubectl, registered, timeout};

/// The role that the tenant binds: one of its own, as that of the cloud goes with it.
const THEIRS: &str = "theirs";

/// A termination that keeps the namespace names the binding that a tenant made there for a user of the cloud.
async fn is_named(cloud_name: &str, user: &str, is_served: bool, subject: impl Fn(&str) -> Value) {
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, cloud_name, Confined::Unguarded);
    let (cluster, person) = (&environment.clusters()[0], &installation.person);
    let rights = json!([
        {"apiGroups": [RBAC], "resources": ["rolebindings", "roles"], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
    ]);
    let attacker = Attacker::new(&environment, cluster, &format!("{cloud_name}-user"), &rights);
    let document = cloud(&installation, cloud_name, 10, &[]);
    let worker = if is_served { Some(installation.served(&document).await) } else { None };
    installation.apply(&document).done();
    let victim = Victim::new(&environment, &installation, cloud_name, user).await;
    let metadata = json!({"name": THEIRS, "namespace": cloud_name});
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    attacker.create(
        &json!({"apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": metadata, "rules": rules}),
    );
    attacker.create(&json!({"apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding", "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": THEIRS}, "subjects": [subject(&identity(cluster, cloud_name, user))]}));
    let ran = person.run(["terminate", cloud_name, "--timeout", &timeout()]);
    let named = "kept: it holds 2 objects of others; these RoleBindings still give rights: theirs";
    let said = format!("{}: Namespace {cloud_name} has-contents: {named}", registered(cluster));
    assert!(ran.code == 0 && ran.err.contains(&said), "{ran:#?}");
    let lane = installation.lane(cloud_name, cluster);
    assert_eq!(lane["objects"][0]["cause"]["message"], named, "{lane:#}");
    // A certificate can't be taken back; a token goes with its account.
    if user == "ci" {
        victim.loses_them().await;
    } else {
        assert!(victim.has_rights());
    }
    // By then the namespace is released: without the guard, the engine may still change what is in it.
    let again = person.run(["terminate", cloud_name, "--remove-others-bindings", "--timeout", &timeout()]);
    assert!(again.code == 0 && again.err.contains("removed the rights of"), "{again:#?}");
    victim.loses_them().await;
    kubectl(cluster, &["delete", "namespace", cloud_name, "--wait=false"]);
    if let Some(worker) = worker {
        worker.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_k_a_binding_of_a_certificate_user_in_a_namespace_that_is_kept_is_named() {
    is_named("attack-k-alone", "ann", false, |name| json!({"apiGroup": RBAC, "kind": "User", "name": name}))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_k_a_binding_of_a_certificate_user_in_a_namespace_that_is_kept_is_named_with_a_worker() {
    is_named("attack-k-served", "ann", true, |name| json!({"apiGroup": RBAC, "kind": "User", "name": name}))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_k_a_binding_of_an_account_in_a_namespace_that_is_kept_is_named_and_its_token_ends() {
    is_named("attack-k-account", "ci", false, |name| json!({"kind": "ServiceAccount", "name": name})).await;
}
