//! The tutorial, step for step as it stands there, on two real API servers.
//!
//! A block of `sh` is run, and one of `sh refused` has to fail. A block of `text` after it is an excerpt of its output.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use dcm_testenv::{Environment, Route};

use crate::common::excerpt::assert_excerpt;
use crate::common::installation::{kubectl, until};
use crate::common::{Ran, User};

/// The clusters of the tutorial.
const CLUSTERS: [&str; 2] = ["berlin", "porto"];

/// What a block is, and what stands in it.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let mut parts = page.split("\n```");
    parts.next();
    let mut blocks = Vec::new();
    while let Some(block) = parts.next() {
        blocks.push(block.split_once('\n').unwrap());
        parts.next();
    }
    blocks
}

fn run(user: &User, step: &str) -> Ran {
    let path = format!("{}:/usr/bin:/bin", user.home().join("bin").display());
    let mut shell = Command::new("bash");
    shell.args(["-e", "-o", "pipefail", "-c", step]).env_clear().env("HOME", user.home()).env("PATH", path);
    Ran::of(shell.current_dir(user.home()).stdin(Stdio::null()).output().unwrap())
}

#[tokio::test]
async fn the_tutorial_works_as_it_stands() {
    let environment = Environment::group("tutorial", CLUSTERS.len()).await.unwrap();
    let user = User::new();
    std::fs::create_dir(user.home().join("bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_dcm"), user.home().join("bin/dcm")).unwrap();
    symlink(environment.kubectl(), user.home().join("bin/kubectl")).unwrap();
    for (name, cluster) in CLUSTERS.iter().zip(environment.clusters()) {
        user.write(&format!("{name}.yaml"), &cluster.admin_kubeconfig(Route::Direct));
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorial.md");
    let page = std::fs::read_to_string(file).unwrap();
    let mut said = String::new();
    let (mut steps, mut refused) = (0, 0);
    for (kind, text) in blocks(&page) {
        match kind {
            "sh" => {
                let ran = run(&user, text);
                assert_eq!(ran.code, 0, "{text}\n{ran:#?}");
                said = ran.out + &ran.err;
                steps += 1;
            }
            "sh refused" => {
                // An API server takes a moment until it goes by other bindings.
                said = until("the refusal", async || {
                    let ran = run(&user, text);
                    (ran.code != 0).then_some(ran.out + &ran.err)
                })
                .await;
                refused += 1;
            }
            "text" => assert_excerpt(text, &said),
            other => panic!("a block of {other:?}"),
        }
    }
    assert!(steps >= 8 && refused >= 1, "{steps} steps, {refused} refused");
    for cluster in environment.clusters() {
        let left = kubectl(cluster, &["get", "namespaces", "shop", "--ignore-not-found", "-o", "name"]);
        assert_eq!(left, "");
    }
}
