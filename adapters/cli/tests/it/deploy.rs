//! What a server is run with: settings, and manifests that a real API server takes.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dcm_testenv::{Cluster, Environment};
use serde_json::{Value, json};

use crate::common::installation::kubectl;
use crate::common::{User, fed, said};

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

#[test]
fn the_settings_are_taken_by_the_server() {
    for file in ["settings.yaml", "kubernetes/settings.yaml"] {
        let file = deploy().join(file);
        let shown = User::new().run(["serve", "--print-config", "--config", file.to_str().unwrap()]).done();
        assert!(shown.contains("roles:"), "{shown}");
    }
}

/// Feeds a manifest to kubectl.
fn create(cluster: &Cluster, manifest: &str, arguments: &[&str]) -> String {
    fed(cluster.kubectl().args(arguments).args(["-f", "-"]), manifest).done()
}

#[tokio::test]
async fn the_manifests_are_taken_by_an_api_server_and_their_pods_are_restricted() {
    let environment = Environment::builder().clusters(1).start().await.unwrap();
    let cluster = &environment.clusters()[0];
    let folder = deploy().join("kubernetes");
    let rendered = said(Command::new(environment.kubectl()).arg("kustomize").arg(&folder));
    let taken = create(cluster, &rendered, &["apply", "--server-side", "--validate=strict"]);
    assert_eq!(taken.lines().filter(|line| line.ends_with("serverside-applied")).count(), 6, "{taken}");

    // What is there is what the command asks for: no rights, and no token.
    let account = kubectl(cluster, &["get", "serviceaccount", "dcm", "-n", "dcm-system", "-o", "json"]);
    let account: Value = serde_json::from_str(&account).unwrap();
    assert_eq!(account["automountServiceAccountToken"], json!(false));
    assert!(!rendered.contains("Role"), "{rendered}");

    // A namespace that lets in restricted pods alone lets these in.
    let set = kubectl(cluster, &["get", "statefulset", "dcm", "-n", "dcm-system", "-o", "json"]);
    let set: Value = serde_json::from_str(&set).unwrap();
    let mut spec = set["spec"]["template"]["spec"].clone();
    spec["volumes"].as_array_mut().unwrap().push(json!({"name": "store", "emptyDir": {}}));
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "dcm-system"}, "spec": spec});
    let made = create(cluster, &pod.to_string(), &["create", "--dry-run=server"]);
    assert_eq!(made, "pod/p created (server dry run)\n");
    let mut privileged = pod;
    privileged["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = json!(true);
    let mut command = cluster.kubectl();
    let refused = fed(
        command.args(["create", "--dry-run=server", "-f", "-"]).stdin(Stdio::piped()),
        &privileged.to_string(),
    );
    assert!(refused.err.contains("violates PodSecurity"), "{refused:?}");
}
