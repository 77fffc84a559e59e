//! The quick start of the README, step for step as it stands there, on a real API server.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use common::installation::{kubectl, until};
use common::{Ran, User};
use dcm_testenv::{Cluster, Environment, Route};

/// The user on the cluster that the quick start gives the least rights.
const ENGINE: &str = "dcm";

/// The lines of the first block of commands in the README's section about the command.
fn steps() -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(file).unwrap();
    let (_, section) = readme.split_once("## The command\n").unwrap();
    let (_, block) = section.split_once("```sh\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    block.lines().map(str::to_owned).collect()
}

/// A folder with what the reader has: both commands, the administrator's kubeconfig where kubectl looks for it, that of
/// the user `dcm`, and the document.
fn prepare(user: &User, environment: &Environment, cluster: &Cluster) {
    for folder in ["bin", ".kube"] {
        std::fs::create_dir(user.home().join(folder)).unwrap();
    }
    symlink(env!("CARGO_BIN_EXE_dcm"), user.home().join("bin/dcm")).unwrap();
    symlink(environment.kubectl(), user.home().join("bin/kubectl")).unwrap();
    user.write(".kube/config", &cluster.admin_kubeconfig(Route::Direct));
    let engine = cluster.issue(ENGINE, &[]).unwrap();
    user.write("edge-1.yaml", &cluster.kubeconfig(&engine, Route::Direct));
    user.write("web.yaml", include_str!("../../../examples/documents/web.yaml"));
}

fn run(user: &User, step: &str) -> Ran {
    let path = format!("{}:/usr/bin:/bin", user.home().join("bin").display());
    let mut shell = Command::new("bash");
    shell.args(["-o", "pipefail", "-c", step]).env_clear().env("HOME", user.home()).env("PATH", path);
    Ran::of(shell.current_dir(user.home()).stdin(Stdio::null()).output().unwrap())
}

/// Waits until the API server goes by the rights that a step has written.
async fn settled(cluster: &Cluster) {
    until("the rights of the least role", async || {
        let mut asked = cluster.kubectl();
        asked.args(["auth", "can-i", "create", "namespaces", "--as", ENGINE]).stdin(Stdio::null());
        asked.output().unwrap().status.success().then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_quick_start_of_the_readme_works_as_it_stands() {
    let environment = Environment::shared(1).await.unwrap();
    let cluster = &environment.clusters()[0];
    let user = User::new();
    prepare(&user, &environment, cluster);
    let mut seen = Vec::new();
    for step in steps() {
        let ran = run(&user, &step);
        assert_eq!(ran.code, 0, "{step}\n{ran:#?}");
        if step.contains("clusterrolebinding") {
            settled(cluster).await;
        }
        seen.push(kubectl(cluster, &["get", "namespaces", "web", "--ignore-not-found", "-o", "name"]));
    }
    let (before, there) = (["", "", ""], ["namespace/web\n"; 3]);
    assert_eq!(seen, [&before[..], &there, &[""]].concat());
}
