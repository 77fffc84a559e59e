//! The tutorial, step for step as it stands there, on two real API servers.
//!
//! A block of `sh` is run, and one of `sh refused` has to fail. A block of `text` after it is an excerpt of its output.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use dcm_testenv::{Environment, Route};

use crate::common::User;
use crate::common::installation::{kubectl, until};
use crate::common::reader::{assert_excerpt, blocks, install, page, run};

/// The clusters of the tutorial.
const CLUSTERS: [&str; 2] = ["berlin", "porto"];

#[tokio::test]
async fn the_tutorial_works_as_it_stands() {
    let environment = Environment::group("tutorial", CLUSTERS.len()).await.unwrap();
    let user = User::new();
    install(&user, &environment);
    for (name, cluster) in CLUSTERS.iter().zip(environment.clusters()) {
        user.write(&format!("{name}.yaml"), &cluster.admin_kubeconfig(Route::Direct));
    }
    let page = page("docs/tutorial.md");
    let mut output = String::new();
    let (mut steps, mut refused) = (0, 0);
    for (kind, text) in blocks(&page) {
        match kind {
            "sh" => {
                let ran = run(&user, text);
                assert_eq!(ran.code, 0, "{text}\n{ran:#?}");
                output = ran.out + &ran.err;
                steps += 1;
            }
            "sh refused" => {
                // An API server takes a moment until it goes by other bindings.
                output = until("the refusal", async || {
                    let ran = run(&user, text);
                    (ran.code != 0).then_some(ran.out + &ran.err)
                })
                .await;
                refused += 1;
            }
            "text" => assert_excerpt(text, &output),
            other => panic!("a block of {other:?}"),
        }
    }
    assert!(steps >= 8 && refused >= 1, "{steps} steps, {refused} refused");
    for cluster in environment.clusters() {
        let left = kubectl(cluster, &["get", "namespaces", "shop", "--ignore-not-found", "-o", "name"]);
        assert_eq!(left, "");
    }
}
