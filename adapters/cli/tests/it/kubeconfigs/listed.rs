//! The files of `KUBECONFIG` count together.

use std::path::Path;

use super::kit::Kit;
use crate::common::{Ran, User};
use dcm_testenv::Environment;

/// Runs the command with a list of files, relative to the home folder.
fn run(user: &User, list: &str, arguments: &[&str]) -> Ran {
    let mut command = user.command();
    Ran::of(
        command.env("KUBECONFIG", list).args(arguments).stdin(std::process::Stdio::null()).output().unwrap(),
    )
}

const ADD: [&str; 3] = ["cluster", "add", "real/probe"];

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_registered_from_the_files_that_kubectl_takes_together() {
    let environment = Environment::group("kubeconfigs", 1).await.unwrap();
    let user = User::new();
    let kit = Kit::new(&environment, &user);
    user.write("own", &kit.with_token(""));
    std::fs::create_dir(user.home().join("below")).unwrap();
    user.write("below/user", "users: [{name: u, user: {tokenFile: ../token}}]\n");
    user.write("first", "current-context: c\nusers: null\n");
    user.write("other", "current-context: other\ncontexts: [{name: other, context: {cluster: gone}}]\n");
    let rest: String = kit.with_token("").replace("current-context: c\n", "");
    user.write("rest", &rest);
    for list in [
        "new:own",
        "own:new",
        "own",
        ":own:",
        "own:own",
        "first:rest",
        "first:other:rest",
        "new:own:other",
        "below/user:rest:first",
    ] {
        let ran = run(&user, list, &ADD);
        assert_eq!(ran.code, 0, "{list}: {ran:?}");
        user.run(["cluster", "remove", "real/probe"]).done();
    }
    let ran = run(&user, "other:own", &[&ADD[..], &["--kube-context", "c"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    user.run(["cluster", "remove", "real/probe"]).done();
    for (list, code, said) in [
        ("other:own", 3, "dcm: kubeconfig: contexts[].context.cluster: clusters has no entry \"gone\"\n"),
        (
            "rest",
            3,
            "dcm: kubeconfig rest: current-context: must name a context; set it or pass --kube-context\n",
        ),
        ("new:newer", 1, "dcm: no file of KUBECONFIG exists: new, newer\n"),
        ("new", 1, "dcm: new can't be read: No such file or directory (os error 2)\n"),
    ] {
        let ran = run(&user, list, &ADD);
        assert_eq!((ran.code, &*ran.err), (code, said), "{list}");
    }
    user.write("broken", "users: [");
    let said = run(&user, "own:broken", &ADD).ended_with(3);
    assert!(said.starts_with("dcm: kubeconfig broken: line 1, "), "{said}");
    assert!(!Path::new(&kit.home).join("new").exists());
}
