//! The quick start of the README, step for step as it stands there, and how a cluster is prepared, on real API servers.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::process::Stdio;

use crate::common::User;
use crate::common::installation::{kubectl, until};
use crate::common::reader::{blocks, install, page, run};
use dcm_testenv::{Cluster, Environment, Route};

/// The blocks of commands in a section of a page, which goes on to the page's end.
fn commands(page: &str, heading: &str) -> Vec<String> {
    let (_, section) = page.split_once(heading).unwrap();
    let shell = blocks(section).into_iter().filter(|(kind, _)| *kind == "sh");
    shell.map(|(_, text)| text.to_owned()).collect()
}

/// A folder with what the reader has: both commands, the administrator's kubeconfig where kubectl looks for it, and the document.
fn prepare(user: &User, environment: &Environment, cluster: &Cluster) {
    install(user, environment);
    std::fs::create_dir(user.home().join(".kube")).unwrap();
    user.write(".kube/config", &cluster.admin_kubeconfig(Route::Direct));
    std::fs::create_dir_all(user.home().join("examples/documents")).unwrap();
    for file in ["web.yaml", "examples/documents/web.yaml"] {
        user.write(file, include_str!("../../../../examples/documents/web.yaml"));
    }
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
    for step in commands(&page("README.md"), "## On your own cluster\n")[0].lines() {
        let ran = run(&user, step);
        assert_eq!(ran.code, 0, "{step}\n{ran:#?}");
    }
    assert_eq!(namespace(), "namespace/web\n");
    run(&user, "kubectl --context developer@default/web/edge-1 get pods").done();
    run(&user, "dcm terminate web --delete-contents").done();
    assert_eq!(namespace(), "");
}

#[tokio::test]
async fn a_cluster_that_is_prepared_as_the_documentation_says_is_ready() {
    let environment = Environment::group("quick_start", 2).await.unwrap();
    let cluster = &environment.clusters()[1];
    let user = User::new();
    prepare(&user, &environment, cluster);
    let [rights, registration, ..] = &commands(&page("docs/clusters.md"), "## Binding and registering\n")[..]
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
