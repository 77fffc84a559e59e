//! One of three clusters is cut off, on real API servers.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::process::{Command, Stdio};
use std::time::Duration;

use common::User;
use dcm_testenv::{Environment, Route};

/// Longer than the longest wait between two tries of an engine that lost a cluster a moment ago.
const SOON: Duration = Duration::from_secs(90);

#[tokio::test]
async fn the_others_are_done_the_status_says_why_and_a_worker_finishes_when_it_comes_back() {
    let environment = Environment::builder().clusters(3).start().await.unwrap();
    let user = User::new();
    let mut clusters = String::new();
    for cluster in environment.clusters() {
        let file = user.write("config", &cluster.admin_kubeconfig(Route::Proxy));
        let name = format!("real/{}", cluster.name());
        user.run(["cluster", "add", &name, "--kubeconfig", file.to_str().unwrap()]).done();
        clusters.push_str(&format!("{{provider: real, cluster: {}}}, ", cluster.name()));
    }
    let document = format!(
        "{{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {{name: cut}}, spec: {{users: [{{name: ann}}], \
         permissions: [{{name: look, apiGroups: [''], resources: [pods], verbs: [get]}}], clusters: [{clusters}]}}}}"
    );
    let proxy = environment.clusters()[1].proxy();
    proxy.cut().await.unwrap();

    let ran = user.run_with_input(&["apply", "--timeout", "8s", "-f", "-"], &document);
    assert!(ran.code == 4 && ran.out.contains("2/3"), "{ran:#?}");
    assert!(ran.err.contains("work is left after 8s: it goes on when a worker runs"), "{}", ran.err);
    let status: serde_json::Value =
        serde_json::from_str(&user.run(["status", "cut", "-o", "json"]).done()).unwrap();
    let lane = |number: u8| &status["clusters"][format!("real/cluster-{number}")]["lane"];
    assert_eq!((&lane(1)["state"], &lane(3)["state"]), (&"done".into(), &"done".into()));
    assert_eq!(lane(2)["cause"]["reason"], "unreachable", "{status:#}");
    assert!(lane(2)["cause"]["nextTry"].is_string(), "{status:#}");

    let mut worker = user.command().arg("serve").stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    proxy.pass().await.unwrap();
    let started = tokio::time::Instant::now();
    while !user.run(["get", "cut"]).done().contains("3/3") {
        assert!(started.elapsed() < SOON, "{}", user.run(["status", "cut"]).out);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    user.run(["terminate", "cut"]).done();
    assert!(Command::new("kill").args(["-TERM", &worker.id().to_string()]).status().unwrap().success());
    assert_eq!(worker.wait().unwrap().code(), Some(0));
}
