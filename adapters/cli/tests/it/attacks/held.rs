//! Attack m: an object of a cloud can't go, for whatever reason. The rights go all the same.

use dcm_testenv::{Cluster, Environment};
use serde_json::{Value, json};

use crate::attacks::attacker::Attacker;
use crate::attacks::victims::{SETTINGS, Victim, cloud, settings};
use crate::common::confined::Confined;
use crate::common::installation::{Installation, kubectl, make, registered, timeout, until};
use crate::common::leftovers::namespaces;

/// A tenant that may change ConfigMaps, and delete them.
fn tenant(environment: &Environment, name: &str) -> Attacker {
    let rights =
        json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "patch", "delete"]}]);
    Attacker::new(environment, &environment.clusters()[0], name, &rights)
}

/// The report of a revocation on the one cluster; the command ends with this code.
fn revocation(installation: &Installation<'_>, cloud: &str, user: &str, code: i32) -> Value {
    let revoke = ["user", "revoke", cloud, user, "-o", "json", "--timeout", &timeout()];
    let ran = installation.person.run(revoke);
    assert_eq!(ran.code, code, "{ran:#?}");
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    report["clusters"][registered(&installation.clusters()[0])].clone()
}

/// The ServiceAccounts of a cloud's users.
fn accounts(cluster: &Cluster, cloud: &str) -> String {
    let select = ["-n", cloud, "-l", "dcm.internal/owner", "-o", "name"];
    kubectl(cluster, &[&["get", "serviceaccounts"][..], &select].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_m_a_held_object_keeps_no_rights_of_a_token_user_and_a_revocation_says_so() {
    const CLOUD: &str = "attack-m-alone";
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let (cluster, person) = (&environment.clusters()[0], &installation.person);
    let attacker = tenant(&environment, "attack-m-alone-user");
    installation.apply(&cloud(&installation, CLOUD, 10, &[settings()])).done();
    let victim = Victim::new(&environment, &installation, CLOUD, "ci").await;
    let settings = ["configmap", SETTINGS, "-n", CLOUD];
    attacker.hold(&settings, true);
    person.run(["terminate", CLOUD, "--deadline", "5s", "--timeout", &timeout()]).ended_with(7);
    victim.loses_them().await;
    assert_eq!(accounts(cluster, CLOUD), "");
    let report = revocation(&installation, CLOUD, "ci", 7);
    assert_eq!(report["isRevoked"], true, "{report:#}");
    attacker.hold(&settings, false);
    installation.terminate(CLOUD).done();
    assert_eq!(namespaces(cluster, CLOUD), "");
    let report = revocation(&installation, CLOUD, "ci", 0);
    assert_eq!(report["isRevoked"], true, "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_m_a_denied_deletion_keeps_neither_rights_nor_accounts_with_a_worker() {
    const CLOUD: &str = "attack-m-denied";
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let cluster = &environment.clusters()[0];
    let document = cloud(&installation, CLOUD, 10, &[settings()]);
    let worker = installation.served(&document).await;
    installation.apply(&document).done();
    let victim = Victim::new(&environment, &installation, CLOUD, "ann").await;
    deny_deletions(cluster, CLOUD).await;
    installation.person.run(["terminate", CLOUD, "--no-wait"]).done();
    victim.loses_them().await;
    until("the end of the accounts", async || accounts(cluster, CLOUD).is_empty().then_some(())).await;
    let report = revocation(&installation, CLOUD, "ann", 5);
    assert_eq!(report["isRevoked"], true, "{report:#}");
    for kind in ["validatingadmissionpolicybinding", "validatingadmissionpolicy"] {
        kubectl(cluster, &["delete", kind, CLOUD]);
    }
    until("the end of the namespace", async || namespaces(cluster, CLOUD).is_empty().then_some(())).await;
    worker.stop();
}

/// Makes the API server refuse every deletion of a ConfigMap in a namespace.
async fn deny_deletions(cluster: &Cluster, namespace: &str) {
    let rules = json!([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["configmaps"]}]);
    let group = "admissionregistration.k8s.io/v1";
    make(
        cluster,
        &json!({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": group, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": namespace},
             "spec": {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": "false"}]}},
            {"apiVersion": group, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": namespace},
             "spec": {"policyName": namespace, "validationActions": ["Deny"], "matchResources":
                {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}}},
        ]}),
    );
    until("deletions to be denied", async || {
        let delete = ["delete", "configmap", SETTINGS, "-n", namespace, "--dry-run=server"];
        let tried = cluster.kubectl().args(delete).output().unwrap();
        (!tried.status.success()).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_m_an_update_takes_a_permission_away_beside_a_held_object() {
    const CLOUD: &str = "attack-m-update";
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let attacker = tenant(&environment, "attack-m-update-user");
    let mut document = cloud(&installation, CLOUD, 10, &[settings()]);
    let worker = installation.served(&document).await;
    installation.apply(&document).done();
    let victim = Victim::new(&environment, &installation, CLOUD, "ann").await;
    let settings = ["configmap", SETTINGS, "-n", CLOUD];
    attacker.hold(&settings, true);
    attacker.kubectl(&[&["delete", "--wait=false"][..], &settings].concat(), &Value::Null).done();
    document["spec"]["permissions"] = json!([]);
    document["spec"]["manifests"] = json!([]);
    installation.hand_over(&document);
    victim.loses_them().await;
    attacker.hold(&settings, false);
    installation.terminate(CLOUD).done();
    worker.stop();
}
