//! The other side: all that came to the clusters.

use dcm_testenv::{Cluster, Environment};

use crate::common::installation::kubectl;
use crate::secrets::search::files_below;

/// Everything that a cluster shows to its administrator, of every kind that it serves.
pub(crate) fn objects(cluster: &Cluster) -> String {
    let kinds = kubectl(cluster, &["api-resources", "--verbs=list", "-o", "name"]);
    let kinds: Vec<&str> = kinds.lines().collect();
    kubectl(cluster, &["get", &kinds.join(","), "--all-namespaces", "--show-managed-fields", "-o", "json"])
}

/// All that ever reached the disks of the clusters: what was stored, also what is deleted by now, and each request with
/// what it carried.
pub(crate) fn files(environment: &Environment) -> Vec<(String, Vec<u8>)> {
    let stored = files_below(&environment.folder().join("etcd-data"));
    let logs = environment.clusters().iter().flat_map(|cluster| {
        let log = cluster.folder().join("kube-apiserver.log");
        [cluster.audit_log().path().to_owned(), log].map(|file| {
            let bytes = std::fs::read(&file).unwrap();
            (file, bytes)
        })
    });
    stored.into_iter().chain(logs).map(|(file, bytes)| (file.display().to_string(), bytes)).collect()
}
