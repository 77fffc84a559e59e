//! Attack i: a user changes an object of a cloud so that `managedFields` do not show it.

use dcm_core::port::cluster::FIELD_MANAGER;
use dcm_testenv::{Cluster, Environment};
use serde_json::{Value, json};

use crate::attacks::attacker::Attacker;
use crate::attacks::victims::{QUOTA, RBAC, ROLE, cloud, settings};
use crate::common::confined::Confined;
use crate::common::installation::{Installation, kubectl, until};

/// The field manager by which the API server names all writers before the first apply.
const UNRECORDED: &str = "before-first-apply";

/// A user that may change the quotas of a cloud.
fn quota_editor(environment: &Environment, name: &str) -> Attacker {
    let rights = json!([{"apiGroups": [""], "resources": ["resourcequotas"], "verbs": ["get", "patch"]}]);
    Attacker::new(environment, &environment.clusters()[0], name, &rights)
}

/// Raises the limit of a quota, and removes all entries of `managedFields` in the same request.
fn raise(attacker: &Attacker, cloud: &str) {
    let patch = json!({"metadata": {"managedFields": [{}]}, "spec": {"hard": {"pods": "99"}}});
    attacker.patch(&["resourcequota", QUOTA, "-n", cloud], &patch);
}

/// The limit of a cloud's quota.
fn pods(cluster: &Cluster, cloud: &str) -> String {
    kubectl(cluster, &["get", "resourcequota", QUOTA, "-n", cloud, "-o", "jsonpath={.spec.hard.pods}"])
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_i_a_change_of_a_quota_that_resets_managed_fields_is_brought_back_by_a_worker() {
    const CLOUD: &str = "attack-i-served";
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let cluster = &environment.clusters()[0];
    let attacker = quota_editor(&environment, "attack-i-served-user");
    let document = cloud(&installation, CLOUD, 10, &[]);
    let worker = installation.served(&document).await;
    installation.apply(&document).done();
    assert_eq!(pods(cluster, CLOUD), "10");
    raise(&attacker, CLOUD);
    until("the quota as it was", async || (pods(cluster, CLOUD) == "10").then_some(())).await;
    installation.terminate(CLOUD).done();
    worker.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_i_a_change_of_a_quota_that_resets_managed_fields_is_planned_and_brought_back_without_a_worker()
 {
    const CLOUD: &str = "attack-i-alone";
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let cluster = &environment.clusters()[0];
    let attacker = quota_editor(&environment, "attack-i-alone-user");
    let document = cloud(&installation, CLOUD, 10, &[]);
    installation.apply(&document).done();
    raise(&attacker, CLOUD);
    assert_eq!(pods(cluster, CLOUD), "99");
    // An apply of what is stored already asks no cluster.
    let planned = installation.person.run_with_input(&["plan", "-f", "-"], &document.to_string()).done();
    assert!(planned.contains("spec.hard.pods was changed under our own field manager"), "{planned}");
    installation.apply(&cloud(&installation, CLOUD, 10, &[settings()])).done();
    assert_eq!(pods(cluster, CLOUD), "10");
    installation.terminate(CLOUD).done();
}

/// A user widens a role of a cloud under a field manager, and a worker brings the rules back.
async fn rules_come_back(cloud_name: &str, manager: &str) {
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, cloud_name, Confined::Unguarded);
    let cluster = &environment.clusters()[0];
    let wider: Value = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]);
    let rights = json!([
        {"apiGroups": [RBAC], "resources": ["roles"], "verbs": ["get", "patch"]},
        // A role may be given the rights that the user has.
        wider[0],
    ]);
    let attacker = Attacker::new(&environment, cluster, &format!("{cloud_name}-user"), &rights);
    let document = cloud(&installation, cloud_name, 10, &[]);
    let worker = installation.served(&document).await;
    installation.apply(&document).done();
    let role = ["role", ROLE, "-n", cloud_name];
    let rules = || kubectl(cluster, &[&["get", "-o", "jsonpath={.rules}"][..], &role[..]].concat());
    let before = rules();
    assert!(before.contains("pods"), "{before}");
    attacker.patch_as(manager, &role, &json!({"rules": wider}));
    until("the role as it was", async || (rules() == before).then_some(())).await;
    installation.terminate(cloud_name).done();
    worker.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_i_a_change_of_a_role_under_our_field_manager_is_brought_back_by_a_worker() {
    rules_come_back("attack-i-ours", FIELD_MANAGER).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_i_a_change_of_a_role_under_the_manager_of_the_unrecorded_is_brought_back_by_a_worker() {
    rules_come_back("attack-i-unrecorded", UNRECORDED).await;
}
