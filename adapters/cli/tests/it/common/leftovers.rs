//! What a logical cloud leaves on clusters, and stores that are lost or put back.

use std::path::{Path, PathBuf};

use dcm_testenv::Cluster;
use serde_json::{Value, json};

use super::OWNED_KINDS;
use super::installation::{Installation, kubectl, registered};

/// A document with users of both kinds and a permission.
pub(crate) fn document(installation: &Installation<'_>, name: &str) -> Value {
    let look = json!({"name": "look", "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
    let users = json!([{"name": "ann"}, {"name": "ci", "type": "token"}]);
    installation.document(name, json!({"users": users, "permissions": [look]}))
}

pub(crate) fn namespaces(cluster: &Cluster, name: &str) -> String {
    kubectl(cluster, &["get", "namespace", name, "--ignore-not-found", "-o", "name"])
}

/// What of a cloud is in its namespace on a cluster.
pub(crate) fn owned(cluster: &Cluster, name: &str) -> String {
    let kinds = OWNED_KINDS.replace("namespaces,", "").replace(",clusterroles,clusterrolebindings", "");
    let kinds = kinds.replace(",certificatesigningrequests", "");
    kubectl(cluster, &["get", &kinds, "-n", name, "-l", "dcm.internal/owner", "-o", "name"])
}

/// The files of a person's store. No process has it open.
pub(crate) fn store_of(installation: &Installation<'_>) -> PathBuf {
    installation.person.home().join(".local/share/dcm")
}

pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap().path();
        std::fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
    }
}

/// The store is again what it was when it was copied.
pub(crate) fn restore(installation: &Installation<'_>, copied: &Path) {
    let store = store_of(installation);
    std::fs::remove_dir_all(&store).unwrap();
    copy(copied, &store);
}

/// A cloud whose store is lost: a new one knows the clusters, and not the cloud.
pub(crate) fn lost(installation: &Installation<'_>, document: &Value) {
    let empty = installation.person.home().join("empty");
    copy(&store_of(installation), &empty);
    installation.apply(document).done();
    restore(installation, &empty);
}

/// The app context of which there is this namespace among the orphans on a cluster.
pub(crate) fn orphaned(listed: &Value, cluster: &Cluster, namespace: &str) -> String {
    let orphans = listed[registered(cluster)]["orphans"].as_array().unwrap().iter();
    let mut ours = orphans
        .filter(|orphan| orphan["object"]["kind"] == "Namespace" && orphan["object"]["name"] == namespace);
    ours.next().unwrap()["context"].as_str().unwrap().to_owned()
}
