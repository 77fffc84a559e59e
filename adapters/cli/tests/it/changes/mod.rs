//! What a change of a document costs real API servers, by their own audit logs, and what it takes away.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod clusters;
mod documents;
mod plans;
mod registered;
mod users;

use crate::common::OWNED_KINDS;
use crate::common::installation::{CLUSTERS, kubectl};
use dcm_testenv::Cluster;
use serde_json::{Value, json};

fn rule(name: &str, verbs: &[&str]) -> Value {
    json!({"name": name, "apiGroups": [""], "resources": ["configmaps", "pods"], "verbs": verbs})
}

fn spec() -> Value {
    let mut run = rule("run", &["create", "delete"]);
    run["users"] = json!(["bob", "ci"]);
    json!({
        "labels": {"example.com/team": "t", "example.com/tier": "gold"},
        "users": [{"name": "ann"}, {"name": "bob"}, {"name": "ci", "type": "token"}],
        "permissions": [rule("look", &["get", "list"]), run],
        "quotas": [{"name": "compute", "hard": {"limits.cpu": "1000m", "pods": 10}}],
    })
}

/// One list for each cluster, all the same.
fn each(words: &[&str]) -> Vec<Vec<String>> {
    vec![words.iter().map(ToString::to_string).collect(); CLUSTERS]
}

/// A part of an object of the cloud's namespace, as the API server has it.
fn part(cluster: &Cluster, namespace: &str, object: &str, part: &str) -> String {
    kubectl(cluster, &["get", object, "--namespace", namespace, "-o", &format!("jsonpath={{{part}}}")])
}

/// The objects of a cloud on one cluster.
fn owned(cluster: &Cluster, cloud: &str) -> Vec<String> {
    let label = format!("dcm.internal/owner,dcm.internal/logical-cloud={cloud}");
    let found = kubectl(cluster, &["get", OWNED_KINDS, "-A", "-l", &label, "-o", "name"]);
    found.lines().map(str::to_owned).collect()
}
