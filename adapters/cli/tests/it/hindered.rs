//! Work that a policy, a finalizer or a missing namespace hindered: it goes on when that is gone, and the causes name what it was, on
//! real API servers.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use crate::common::confined::Confined;
use crate::common::installation::{Installation, kubectl, make, timeout, until};
use dcm_testenv::{Cluster, Environment};
use serde_json::{Value, json};

const CLUSTERS: usize = 1;

/// The exit code of a command whose work is stuck until an administrator changes something.
const STUCK: i32 = 5;

/// The exit code of a command that reached its `--timeout`.
const TIMED_OUT: i32 = 4;

const ADMISSION: &str = "admissionregistration.k8s.io/v1";

fn spec() -> Value {
    json!({
        "users": [{"name": "ann"}],
        "permissions": [{"name": "look", "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
        "quotas": [{"name": "compute", "hard": {"pods": 10}}],
    })
}

/// A policy that denies an operation on a resource in one namespace.
struct Policy<'a> {
    cluster: &'a Cluster,
    name: &'a str,
}

impl<'a> Policy<'a> {
    /// In force when this returns: `tried`, for which the cluster is only asked, is denied.
    async fn new(
        cluster: &'a Cluster,
        name: &'a str,
        operation: &str,
        (group, resource): (&str, &str),
        tried: &[&str],
    ) -> Self {
        let rules = json!([{"apiGroups": [group], "apiVersions": ["v1"], "operations": [operation], "resources": [resource]}]);
        let here = json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}});
        make(
            cluster,
            &json!({"apiVersion": "v1", "kind": "List", "items": [
                {"apiVersion": ADMISSION, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name},
                 "spec": {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": "false"}]}},
                {"apiVersion": ADMISSION, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
                 "spec": {"policyName": name, "validationActions": ["Deny"], "matchResources": here}},
            ]}),
        );
        until("a policy that denies", async || {
            let tried =
                cluster.kubectl().args(tried).args(["-n", name, "--dry-run=server"]).output().unwrap();
            (!tried.status.success()).then_some(())
        })
        .await;
        Self { cluster, name }
    }

    /// Away at once, though the API server goes by it for a moment yet.
    fn delete(self) {
        for kind in ["validatingadmissionpolicybinding", "validatingadmissionpolicy"] {
            kubectl(self.cluster, &["delete", kind, self.name]);
        }
    }
}

#[tokio::test]
async fn a_terminate_that_a_policy_denied_is_done_by_the_next_one_as_soon_as_the_policy_is_deleted() {
    let environment = Environment::group("hindered", CLUSTERS).await.unwrap();
    let rbac = "rbac.authorization.k8s.io";
    for (cloud, denied, tried) in [
        ("denied-roles", (rbac, "roles"), ["delete", "role", "look"]),
        ("denied-bindings", (rbac, "rolebindings"), ["delete", "rolebinding", "look"]),
        ("denied-quotas", ("", "resourcequotas"), ["delete", "resourcequota", "compute"]),
        ("denied-itself", ("", "namespaces"), ["delete", "namespace", "denied-itself"]),
    ] {
        let installation = Installation::confined(&environment, cloud, Confined::Unguarded);
        installation.apply(&installation.document(cloud, spec())).done();
        let policy = Policy::new(&installation.clusters()[0], cloud, "DELETE", denied, &tried).await;
        let said = installation.terminate(cloud).ended_with(STUCK);
        assert!(said.contains("denied") || said.contains("invalid"), "{cloud}: {said}");
        policy.delete();
        installation.terminate(cloud).done();
    }
}

#[tokio::test]
async fn an_apply_that_a_policy_denied_is_done_by_the_next_one_as_soon_as_the_policy_is_deleted() {
    const CLOUD: &str = "denied-creation";
    let environment = Environment::group("hindered", CLUSTERS).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let document = installation.document(CLOUD, spec());
    let mut without = document.clone();
    without["spec"]["permissions"] = json!([]);
    installation.apply(&without).done();
    let tried = ["create", "role", "tried", "--verb=get", "--resource=pods"];
    let roles = ("rbac.authorization.k8s.io", "roles");
    let policy = Policy::new(&installation.clusters()[0], CLOUD, "CREATE", roles, &tried).await;
    installation.apply(&document).ended_with(STUCK);
    policy.delete();
    installation.apply(&document).done();
    installation.terminate(CLOUD).done();
}

#[tokio::test]
async fn a_worker_goes_on_with_a_terminate_when_the_policy_is_gone() {
    const CLOUD: &str = "denied-worker";
    let environment = Environment::group("hindered", CLUSTERS).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let document = installation.document(CLOUD, spec());
    let worker = installation.served(&document).await;
    installation.apply(&document).done();
    let roles = ("rbac.authorization.k8s.io", "roles");
    let cluster = &installation.clusters()[0];
    let policy = Policy::new(cluster, CLOUD, "DELETE", roles, &["delete", "role", "look"]).await;
    installation.person.run(["terminate", "--no-wait", CLOUD]).done();
    until("a removal that is denied", async || {
        let lane = installation.lane(CLOUD, cluster);
        ["denied", "invalid"].iter().any(|reason| lane["cause"]["reason"] == *reason).then_some(())
    })
    .await;
    policy.delete();
    until("a removal that is done", async || {
        (installation.lane(CLOUD, cluster)["state"] == "removed").then_some(())
    })
    .await;
    worker.stop();
}

#[tokio::test]
async fn a_terminate_that_waited_for_a_finalizer_is_done_when_the_finalizer_is_gone() {
    let environment = Environment::group("hindered", CLUSTERS).await.unwrap();
    for (cloud, object) in [
        ("held-role", ["role", "look"]),
        ("held-quota", ["resourcequota", "compute"]),
        ("held-itself", ["namespace", "held-itself"]),
    ] {
        let installation = Installation::new(&environment, cloud);
        let cluster = &installation.clusters()[0];
        let patch = |finalizers: &Value| {
            let patch = json!({"metadata": {"finalizers": finalizers}}).to_string();
            kubectl(
                cluster,
                &[&["patch"][..], &object, &["-n", cloud, "--type=merge", "-p", &patch]].concat(),
            );
        };
        installation.apply(&installation.document(cloud, spec())).done();
        patch(&json!(["example.com/hold"]));
        let said = installation.person.run(["terminate", cloud, "--timeout", "3s"]).ended_with(TIMED_OUT);
        assert!(said.contains("example.com/hold"), "{cloud}: {said}");
        patch(&Value::Null);
        installation.terminate(cloud).done();
    }
}

#[tokio::test]
async fn the_cause_of_a_permission_in_a_namespace_that_is_not_there_names_it_and_what_to_do() {
    const CLOUD: &str = "elsewhere";
    let environment = Environment::group("hindered", CLUSTERS).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Privileged);
    let mut spec = spec();
    spec["level"] = "privileged".into();
    spec["permissions"][0]["namespace"] = "hindered-nowhere".into();
    let document = installation.document(CLOUD, spec);
    let plan = installation.person.run_with_input(&["plan", "-f", "-"], &document.to_string());
    let sentence = "the namespace hindered-nowhere does not exist on the cluster: create it there";
    assert!(plan.out.contains(sentence), "{plan:#?}");
    let ran = installation.apply_within("5s", &document);
    assert!(ran.code != 0 && ran.err.contains(sentence), "{ran:#?}");
    let cluster = &installation.clusters()[0];
    kubectl(cluster, &["create", "namespace", "hindered-nowhere"]);
    installation.apply(&document).done();
    installation.person.run(["terminate", CLOUD, "--timeout", &timeout()]).done();
    kubectl(cluster, &["delete", "namespace", "hindered-nowhere"]);
}
