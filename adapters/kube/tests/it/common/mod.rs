//! What the tests against a real API server share.

pub(crate) mod answering;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::app_context::Generation;
use dcm_core::manifest::{GroupVersionKind, Manifest, ObjectKey};
use dcm_core::name::{ContextId, OwnerId};
use dcm_core::port::cluster::{
    Call, Cluster, ClusterUid, Fence, LABEL_OWNER, Marks, Object, Origin, Precondition, Selection, Stamped,
};
use dcm_core::port::proof::{ClusterProofKey, PROOF_BYTES, ProofKey};
use dcm_core::secret::Secret;
use dcm_kube::{KubeCluster, Options};
use dcm_testenv::{Cluster as Server, Route};
use serde_json::{Value, json};

/// The owner that a test writes as, and with it the start of its User-Agent.
pub(crate) fn call(owner: &str) -> Call {
    Call {
        owner: OwnerId::new(owner).unwrap(),
        context: Some(ContextId::new("lc-1").unwrap()),
        generation: Generation(1),
        fence: Fence(7),
    }
}

pub(crate) async fn administrator(server: &Server) -> KubeCluster {
    connect(&server.admin_kubeconfig(Route::Direct), &Options::default()).await
}

pub(crate) async fn connect(kubeconfig: &str, options: &Options) -> KubeCluster {
    KubeCluster::connect(&Secret::new(kubeconfig), options).await.unwrap()
}

pub(crate) fn kind(group: &str, version: &str, kind: &str) -> GroupVersionKind {
    GroupVersionKind::new(group, version, kind)
}

pub(crate) fn config_map() -> GroupVersionKind {
    kind("", "v1", "ConfigMap")
}

pub(crate) fn key(kind: &GroupVersionKind, namespace: Option<&str>, name: &str) -> ObjectKey {
    ObjectKey::of_kind(kind, namespace, name)
}

pub(crate) fn stamped(call: &Call, body: Value) -> Stamped {
    let manifest = Manifest::new(body).unwrap();
    let marks = Marks {
        owner: call.owner.clone(),
        context: call.context.clone().unwrap(),
        generation: call.generation,
        manifest: Some(manifest.hash()),
        origin: Origin::Created,
    };
    let labels = BTreeMap::from([("dcm.internal/project".to_owned(), "p".to_owned())]);
    let proof = Some(proofs().prove(manifest.key(), &marks));
    Stamped { manifest, marks, labels: Arc::new(labels), proof }
}

/// What proves the marks of the tests' objects.
pub(crate) fn proofs() -> ClusterProofKey {
    ProofKey::new(&[1; PROOF_BYTES]).on(&ClusterUid("tests".into()))
}

pub(crate) fn data(call: &Call, namespace: &str, name: &str, data: &Value) -> Stamped {
    let metadata = json!({"name": name, "namespace": namespace});
    stamped(call, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}))
}

/// Makes a namespace.
pub(crate) async fn namespace(cluster: &dyn Cluster, call: &Call, name: &str) -> Object {
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    cluster.create(call, &stamped(call, body)).await.unwrap()
}

pub(crate) fn observed(object: &Object) -> Precondition {
    Precondition { uid: object.uid.clone(), resource_version: object.resource_version.clone() }
}

pub(crate) fn selection(call: &Call, kind: &GroupVersionKind) -> Selection {
    Selection { kind: kind.clone(), owner: call.owner.clone() }
}

/// Runs kubectl, which must succeed, with a text on its standard input.
pub(crate) fn kubectl(server: &Server, arguments: &[&str], input: &str) -> String {
    use std::io::Write as _;
    use std::process::Stdio;
    let mut command = server.kubectl();
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "kubectl {arguments:?}: {words}");
    String::from_utf8(output.stdout).unwrap()
}

/// The labels of an object but for our marks: what its manifest says, what others have added, and of a namespace the name
/// that the API server adds.
pub(crate) fn labels_of_others(object: &Object) -> Value {
    let mut labels = object.body["metadata"]["labels"].clone();
    if let Some(labels) = labels.as_object_mut() {
        labels.retain(|name, _| !name.starts_with("dcm.internal/"));
    }
    labels
}

/// True when the object carries a mark of ours.
pub(crate) fn is_marked(object: &Object) -> bool {
    !object.body["metadata"]["labels"][LABEL_OWNER].is_null()
}

/// Waits for something at most this long.
pub(crate) async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| panic!("nothing within {limit:?}"))
}
