//! What attacks are tried on: clouds, and what Kubernetes shows of their objects.

use dcm_core::port::cluster::LABEL_CONTEXT;
use dcm_testenv::{Cluster, Environment};
use serde_json::{Map, Value, json};

use crate::attacks::signers::may_user_get_pods;
use crate::common::installation::{Installation, kubectl, timeout, until};
use crate::common::leftovers::document;

/// The value of the owner label on all objects of these installations.
pub(super) const OWNER: &str = "dcm";

pub(super) const RBAC: &str = "rbac.authorization.k8s.io";

/// The names of objects in each cloud: its quota, its role, and the ConfigMap of [`settings`].
pub(super) const QUOTA: &str = "size";
pub(super) const ROLE: &str = "look";
pub(super) const SETTINGS: &str = "settings";

/// The prefix of all our labels and annotations.
const PREFIX: &str = "dcm.internal/";

/// A document with a certificate user `ann` and a token user `ci`, a permission, a quota of this many pods, and these manifests.
///
/// The engine follows the kinds that a cloud has and no others: an attack on another kind proves nothing.
pub(super) fn cloud(installation: &Installation<'_>, name: &str, pods: u32, manifests: &[Value]) -> Value {
    let mut document = document(installation, name);
    document["spec"]["quotas"] = json!([{"name": QUOTA, "hard": {"pods": pods}}]);
    document["spec"]["manifests"] = json!(manifests);
    document
}

/// A ConfigMap for the manifests of a cloud.
pub(super) fn settings() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": SETTINGS}, "data": {"a": "b"}})
}

/// The app context of a cloud, as the label of its namespace has it.
pub(super) fn context(cluster: &Cluster, cloud: &str) -> String {
    let namespace = kubectl(cluster, &["get", "namespace", cloud, "-o", "json"]);
    let namespace: Value = serde_json::from_str(&namespace).unwrap();
    namespace["metadata"]["labels"][LABEL_CONTEXT].as_str().unwrap().to_owned()
}

/// The UID of an object, and the time at which its deletion began; empty for an object that does not exist.
pub(super) fn life(cluster: &Cluster, object: &[&str]) -> String {
    let path = "jsonpath={.metadata.uid} {.metadata.deletionTimestamp}";
    kubectl(cluster, &[&["get", "--ignore-not-found", "-o", path][..], object].concat())
}

/// All our labels and annotations of an object, as a patch that writes them on another one.
pub(super) fn marks_of(object: &Value) -> Value {
    let ours = |member: &str| {
        let all = object["metadata"][member].as_object().into_iter().flatten();
        let ours = all.filter(|(key, _)| key.starts_with(PREFIX));
        ours.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<String, Value>>()
    };
    json!({"metadata": {"labels": ours("labels"), "annotations": ours("annotations")}})
}

/// A user of a cloud, with its credential and the rights that it gives.
pub(super) struct Victim<'a> {
    environment: &'a Environment,
    installation: &'a Installation<'a>,
    user: &'a str,
    kubeconfig: String,
}

impl<'a> Victim<'a> {
    pub(super) async fn new(
        environment: &'a Environment,
        installation: &'a Installation<'a>,
        cloud: &str,
        user: &'a str,
    ) -> Self {
        let kubeconfig = installation.person.run(["kubeconfig", cloud, "--user", user]).done();
        let victim = Self { environment, installation, user, kubeconfig };
        until("the rights of the user", async || victim.has_rights().then_some(())).await;
        victim
    }

    pub(super) fn has_rights(&self) -> bool {
        may_user_get_pods(self.environment, self.installation, self.user, &self.kubeconfig)
    }

    pub(super) async fn loses_them(&self) {
        until("the end of the rights", async || (!self.has_rights()).then_some(())).await;
    }
}

/// The name of a user of a cloud in its binding.
pub(super) fn identity(cluster: &Cluster, cloud: &str, user: &str) -> String {
    let path = "jsonpath={.subjects[*].name}";
    let bound = kubectl(cluster, &["get", "rolebinding", ROLE, "-n", cloud, "-o", path]);
    let part = if user == "ci" { "ci-e1".to_owned() } else { format!(":{user}:") };
    bound.split(' ').find(|name| name.contains(&part)).unwrap().to_owned()
}

/// Revokes a user of a cloud: the credential that it has loses its rights.
pub(super) async fn loses_rights(
    environment: &Environment,
    installation: &Installation<'_>,
    cloud: &str,
    user: &str,
) {
    let kubeconfig = installation.person.run(["kubeconfig", cloud, "--user", user]).done();
    let may = || may_user_get_pods(environment, installation, user, &kubeconfig);
    // The API server learns of bindings by watches.
    until("the rights of the user", async || may().then_some(())).await;
    installation.person.run(["user", "revoke", cloud, user, "--timeout", &timeout()]).done();
    until("the end of the rights", async || (!may()).then_some(())).await;
}

/// Takes a cloud off its clusters, with all that its namespace holds.
#[track_caller]
pub(super) fn terminate_with_contents(installation: &Installation<'_>, cloud: &str) {
    installation.person.run(["terminate", cloud, "--delete-contents", "--timeout", &timeout()]).done();
}
