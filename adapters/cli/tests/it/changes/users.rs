//! Users who are taken out, and credentials that go on without what they were made from.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dcm_testenv::{Cluster, Environment};
use serde_json::json;

use crate::changes::{each, owned, part, spec};
use crate::common::Ran;
use crate::common::installation::{CLUSTERS, Installation, kubectl, until};

/// A user's kubeconfig as it is given out now, in a folder of its own.
fn kubeconfig(installation: &Installation<'_>, cloud: &str, user: &str) -> PathBuf {
    let folder = tempfile::tempdir_in(installation.person.home()).unwrap().keep();
    let file = folder.join(format!("{user}.yaml"));
    installation.person.run(["kubeconfig", cloud, "--user", user, "--file", file.to_str().unwrap()]).done();
    file
}

/// What a user gets on one cluster.
fn asked(environment: &Environment, cluster: &Cluster, kubeconfig: &Path, arguments: &[&str]) -> Ran {
    let user = kubeconfig.file_stem().unwrap().to_str().unwrap();
    let mut command = Command::new(environment.kubectl());
    command.env_clear().env("HOME", kubeconfig.parent().unwrap()).arg("--kubeconfig").arg(kubeconfig);
    command.args(["--context", &format!("{user}@{}", cluster.name())]).args(arguments);
    Ran::of(command.stdin(Stdio::null()).output().unwrap())
}

/// Waits until a user has rights, or none: the API server's authorizer learns of a change a moment later.
async fn until_rights_are(there: bool, environment: &Environment, cluster: &Cluster, kubeconfig: &Path) {
    until(&format!("rights: {there}"), async || {
        let ran = asked(environment, cluster, kubeconfig, &["get", "configmaps"]);
        let refused = ran.err.contains("is forbidden: ") || ran.err.contains("Unauthorized");
        assert!(ran.code == 0 || refused, "{ran:#?}");
        (there == (ran.code == 0)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_user_who_is_taken_out_has_no_right_any_more_also_when_one_of_that_name_comes_back() {
    let environment = Environment::group("changes", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "left");
    let document = installation.document("left", spec());
    installation.apply(&document).done();
    let first = ["bob", "ci"].map(|user| kubeconfig(&installation, "left", user));
    for cluster in installation.clusters() {
        for user in &first {
            until_rights_are(true, &environment, cluster, user).await;
        }
    }

    let mut without = document.clone();
    without["spec"]["users"] = json!([{"name": "ann"}]);
    without["spec"]["permissions"][1]["users"] = json!(["ann"]);
    installation.apply(&without).done();
    for cluster in installation.clusters() {
        for binding in ["rolebinding/look", "rolebinding/run"] {
            let subjects = part(cluster, "left", binding, ".subjects[*].name");
            assert!(subjects.contains(":ann:") && !subjects.contains(' '), "{subjects}");
        }
        let left = owned(cluster, "left");
        let of_users =
            |object: &&String| object.starts_with("serviceaccount/") || object.starts_with("certificate");
        assert_eq!(left.iter().filter(of_users).collect::<Vec<_>>(), Vec::<&String>::new());
        for user in &first {
            until_rights_are(false, &environment, cluster, user).await;
        }
    }

    installation.apply(&document).done();
    let second = ["bob", "ci"].map(|user| kubeconfig(&installation, "left", user));
    for cluster in installation.clusters() {
        for (second, first) in second.iter().zip(&first) {
            until_rights_are(true, &environment, cluster, second).await;
            let ran = asked(&environment, cluster, first, &["get", "configmaps"]);
            assert_ne!(ran.code, 0, "{ran:?}");
        }
    }
}

#[tokio::test]
async fn a_request_for_a_certificate_that_is_gone_means_nothing() {
    let environment = Environment::group("changes", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "signed");
    let mut document = installation.document("signed", spec());
    installation.apply(&document).done();
    let ann = kubeconfig(&installation, "signed", "ann");
    for cluster in installation.clusters() {
        let label = "dcm.internal/logical-cloud=signed";
        kubectl(cluster, &["delete", "certificatesigningrequests", "-l", label, "--ignore-not-found"]);
    }
    let deleted = installation.moment();
    installation.apply(&document).done();
    assert_eq!(installation.writes(&deleted), each(&[]));
    // Where there is something else to do, the clusters are looked at, and the requests are missed no more than before.
    document["spec"]["labels"] = json!({});
    installation.apply(&document).done();
    assert_eq!(installation.writes(&deleted), each(&["update namespaces signed"]));
    for cluster in installation.clusters() {
        until_rights_are(true, &environment, cluster, &ann).await;
    }
}
