//! A user of a cluster with few rights.

use std::process::Command;

use dcm_testenv::{Cluster, Environment, Route};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::installation::make;
use crate::common::{Ran, fed};

/// A user with its own kubeconfig.
pub(crate) struct Attacker {
    kubectl: std::path::PathBuf,
    folder: TempDir,
    kubeconfig: std::path::PathBuf,
}

impl Attacker {
    /// A user that has exactly these rights: the rules of a ClusterRole.
    pub(crate) fn new(environment: &Environment, cluster: &Cluster, name: &str, rules: &Value) -> Self {
        let group = "rbac.authorization.k8s.io";
        make(
            cluster,
            &json!({"apiVersion": "v1", "kind": "List", "items": [
                {"apiVersion": format!("{group}/v1"), "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules},
                {"apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": name},
                 "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
                 "subjects": [{"apiGroup": group, "kind": "User", "name": name}]},
            ]}),
        );
        let identity = cluster.issue(name, &[]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, cluster.kubeconfig(&identity, Route::Direct)).unwrap();
        Self { kubectl: environment.kubectl().to_owned(), folder, kubeconfig }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.kubectl);
        command.env_clear().env("HOME", self.folder.path()).arg("--kubeconfig").arg(&self.kubeconfig);
        command
    }

    /// Runs kubectl; the input goes to its standard input.
    pub(crate) fn kubectl(&self, arguments: &[&str], input: &Value) -> Ran {
        fed(self.command().args(arguments), &input.to_string())
    }

    /// Reads an object: its kind and name, and `-n` with its namespace.
    #[track_caller]
    pub(crate) fn read(&self, object: &[&str]) -> Value {
        let read = self.kubectl(&[&["get", "-o", "json"][..], object].concat(), &Value::Null).done();
        serde_json::from_str(&read).unwrap()
    }

    /// Changes an object by a merge patch.
    #[track_caller]
    pub(crate) fn patch(&self, object: &[&str], patch: &Value) {
        self.patch_as("kubectl-patch", object, patch);
    }

    /// Changes an object by a merge patch under a field manager.
    #[track_caller]
    pub(crate) fn patch_as(&self, manager: &str, object: &[&str], patch: &Value) {
        let patch = patch.to_string();
        let arguments = ["patch", "--type", "merge", "--field-manager", manager, "-p", patch.as_str()];
        self.kubectl(&[&arguments[..], object].concat(), &Value::Null).done();
    }

    /// Puts a finalizer on an object, so that it can't go, or takes it off.
    #[track_caller]
    pub(crate) fn hold(&self, object: &[&str], is_held: bool) {
        let finalizers = if is_held { json!(["example.org/hold"]) } else { Value::Null };
        self.patch(object, &json!({"metadata": {"finalizers": finalizers}}));
    }

    /// Makes an object.
    #[track_caller]
    pub(crate) fn create(&self, object: &Value) {
        self.kubectl(&["create", "-f", "-"], object).done();
    }
}
