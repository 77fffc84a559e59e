//! Two processes at the same moment, on one store or with a store each, on real API servers.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod at_once;
use crate::common;
mod one_store;
mod serving;
mod two_stores;
mod worker;

use common::confined::Confined;
use common::installation::kubectl;
use common::{OWNED_KINDS, User};
use dcm_testenv::{Cluster, Environment, Route};

const CLUSTERS: usize = 2;

async fn environment() -> Environment {
    Environment::group("races", CLUSTERS).await.unwrap()
}

/// Registers a cluster as `real/NAME` for a user, whose engine has this identity there.
fn register(user: &User, cluster: &Cluster, identity: &str) {
    let file = user.write("config", &Confined::Standard.kubeconfig(cluster, identity, Route::Direct));
    let id = format!("real/{}", cluster.name());
    user.run(["cluster", "add", &id, "--kubeconfig", file.to_str().unwrap()]).done();
    std::fs::remove_file(file).unwrap();
}

/// What the administrator is told by a question in words.
#[track_caller]
fn asked(cluster: &Cluster, question: &str) -> String {
    kubectl(cluster, &question.split(' ').collect::<Vec<_>>())
}

/// A label of a namespace.
fn label(cluster: &Cluster, namespace: &str, label: &str) -> String {
    let escaped = label.replace('.', r"\.");
    asked(cluster, &format!("get namespace {namespace} -o jsonpath={{.metadata.labels.{escaped}}}"))
}

/// What was made for any of these clouds.
fn made_for(cluster: &Cluster, clouds: &[String]) -> String {
    let label = format!("dcm.internal/logical-cloud in ({})", clouds.join(","));
    kubectl(cluster, &["get", OWNED_KINDS, "-A", "-o", "name", "-l", &label])
}
