//! What another person has on a cluster.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_testenv::Cluster;
use serde_json::{Value, json};

use super::installation::{make, until};
use super::inventory::objects_of;

const RBAC: &str = "rbac.authorization.k8s.io";

/// A namespace with a role, its binding, a quota and a setting, a role for the whole cluster, and a request for a
/// certificate that nobody has approved, all of one name.
fn objects(name: &str) -> Value {
    let of = |version: &str, kind: &str, more: Value| {
        let metadata = json!({"name": name, "namespace": name});
        let mut object = json!({"apiVersion": version, "kind": kind, "metadata": metadata});
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object
    };
    let rbac = format!("{RBAC}/v1");
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    let bound = json!({
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "somebody"}],
    });
    let own = json!({"name": name, "labels": {"team": "blue"}, "annotations": {"note": "mine"}});
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": own},
        of(&rbac, "Role", json!({"rules": rules})),
        of(&rbac, "RoleBinding", bound),
        of("v1", "ResourceQuota", json!({"spec": {"hard": {"pods": "5"}}})),
        of("v1", "ConfigMap", json!({"data": {"mine": "yes"}})),
        {"apiVersion": rbac, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules},
        {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
         "metadata": {"name": name}, "spec": {
             "request": STANDARD.encode(request()), "usages": ["client auth"],
             "signerName": "kubernetes.io/kube-apiserver-client"}},
    ]})
}

/// A request for a certificate, as PEM.
fn request() -> String {
    let key = rcgen::KeyPair::generate().unwrap();
    rcgen::CertificateParams::default().serialize_request(&key).unwrap().pem().unwrap()
}

/// Makes it, and waits until Kubernetes has done its part.
pub(crate) async fn settle(cluster: &Cluster, name: &str) {
    make(cluster, &objects(name));
    until("what Kubernetes puts into a namespace", async || {
        let at = async |resource: &str, of: &str| {
            let mut found = objects_of(cluster, "/api/v1", resource, None).await;
            found.remove(&format!("/api/v1 {resource} {name}/{of}"))
        };
        let quota = at("resourcequotas", name).await?;
        at("serviceaccounts", "default").await?;
        at("configmaps", "kube-root-ca.crt").await?;
        quota["status"]["used"]["pods"].is_string().then_some(())
    })
    .await;
}
