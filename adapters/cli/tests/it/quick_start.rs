//! The quick start of the README, step for step as it stands there, and how a cluster is prepared, on real API servers.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::installation::{kubectl, until};
use crate::common::{Ran, User};
use dcm_testenv::{Cluster, Environment, Route};

/// A page of the documentation.
fn page(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
}

/// The blocks of commands in a section of a page, which goes on to the page's end.
fn blocks(page: &str, heading: &str) -> Vec<String> {
    let (_, section) = page.split_once(heading).unwrap();
    let blocks = section.split("```sh\n").skip(1);
    blocks.map(|rest| rest.split_once("```").unwrap().0.to_owned()).collect()
}

/// A folder with what the reader has: both commands, the administrator's kubeconfig where kubectl looks for it, and the document.
fn prepare(user: &User, environment: &Environment, cluster: &Cluster) {
    for folder in ["bin", ".kube"] {
        std::fs::create_dir(user.home().join(folder)).unwrap();
    }
    symlink(env!("CARGO_BIN_EXE_dcm"), user.home().join("bin/dcm")).unwrap();
    symlink(environment.kubectl(), user.home().join("bin/kubectl")).unwrap();
    user.write(".kube/config", &cluster.admin_kubeconfig(Route::Direct));
    std::fs::create_dir_all(user.home().join("examples/documents")).unwrap();
    for file in ["web.yaml", "examples/documents/web.yaml"] {
        user.write(file, include_str!("../../../../examples/documents/web.yaml"));
    }
}

fn run(user: &User, step: &str) -> Ran {
    let path = format!("{}:/usr/bin:/bin", user.home().join("bin").display());
    let mut shell = Command::new("bash");
    shell.args(["-o", "pipefail", "-c", step]).env_clear().env("HOME", user.home()).env("PATH", path);
    Ran::of(shell.current_dir(user.home()).stdin(Stdio::null()).output().unwrap())
}

/// Waits until the API server goes by the rights that a step has written for a user.
async fn settled(cluster: &Cluster, user: &str) {
    until("the rights of the least role", async || {
        let mut asked = cluster.kubectl();
        asked.args(["auth", "can-i", "create", "namespaces", "--as", user]).stdin(Stdio::null());
        asked.output().unwrap().status.success().then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_quick_start_of_the_readme_works_as_it_stands() {
    let environment = Environment::group("quick_start", 2).await.unwrap();
    let cluster = &environment.clusters()[0];
    let user = User::new();
    prepare(&user, &environment, cluster);
    let namespace = || kubectl(cluster, &["get", "namespaces", "web", "--ignore-not-found", "-o", "name"]);
    for step in blocks(&page("README.md"), "## On your own cluster\n")[0].lines() {
        let ran = run(&user, step);
        assert_eq!(ran.code, 0, "{step}\n{ran:#?}");
    }
    assert_eq!(namespace(), "namespace/web\n");
    run(&user, "kubectl --context developer@default/web/edge-1 get pods").done();
    run(&user, "dcm terminate web").done();
    assert_eq!(namespace(), "");
}

#[tokio::test]
async fn a_cluster_that_is_prepared_as_the_documentation_says_is_ready() {
    let environment = Environment::group("quick_start", 2).await.unwrap();
    let cluster = &environment.clusters()[1];
    let user = User::new();
    prepare(&user, &environment, cluster);
    let [rights, registration, ..] = &blocks(&page("docs/clusters.md"), "## Binding and registering\n")[..]
    else {
        panic!("there are two blocks")
    };
    run(&user, rights).done();
    settled(cluster, "system:serviceaccount:dcm-system:dcm").await;
    let registered = run(&user, registration).done();
    assert!(registered.contains("rights  complete"), "{registered}");
}

#[test]
fn the_least_role_in_the_documentation_is_the_one_that_is_printed() {
    let page = page("docs/clusters.md");
    let (_, role) = page.split_once("<!-- least role -->\n```yaml\n").unwrap();
    let (role, _) = role.split_once("```\n<!-- end of least role -->").unwrap();
    let user = User::new();
    assert_eq!(user.run(["cluster", "role"]).done(), role);
    let listed = "- apiGroups:\n  - rbac.authorization.k8s.io\n  resources:\n  - clusterrolebindings\n  - clusterroles\n  verbs:\n  - list\n";
    let privileged = role
        .replace(listed, "")
        .replace("  - roles\n", "  - clusterroles\n  - roles\n")
        .replace("  - rolebindings\n", "  - clusterrolebindings\n  - rolebindings\n");
    assert_eq!(user.run(["cluster", "role", "--level", "privileged"]).done(), privileged);
}
