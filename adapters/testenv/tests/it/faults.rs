//! What a client sees when the way to a server, or the server itself, fails.
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as the tests do")]

use crate::common;

use std::process::Command;
use std::time::Duration;

use common::{output, succeed};
use dcm_testenv::{Cluster, Environment, Route};
use tokio::time::Instant;

/// A request of the administrator, through the proxy.
fn get_through_proxy(cluster: &Cluster) -> Command {
    let file = cluster.folder().join("proxied.kubeconfig");
    std::fs::write(&file, cluster.admin_kubeconfig(Route::Proxy)).unwrap();
    let mut command = cluster.kubectl();
    command.arg(format!("--kubeconfig={}", file.display()));
    command.args(["get", "--raw", "/api/v1/namespaces/default"]);
    command
}

fn failure(command: &mut Command) -> String {
    let (status, text, errors) = output(command);
    assert!(!status.success(), "{command:?} should have failed:\n{text}");
    errors
}

#[tokio::test]
async fn a_proxy_cuts_hangs_delays_and_passes_again_on_the_same_port() {
    let environment = Environment::builder().start().await.unwrap();
    let cluster = &environment.clusters()[0];
    succeed(&mut get_through_proxy(cluster));

    cluster.proxy().cut().await.unwrap();
    let refused = failure(&mut get_through_proxy(cluster));
    assert!(refused.contains("refused"), "{refused}");
    succeed(cluster.kubectl().args(["get", "--raw", "/readyz"]));

    cluster.proxy().hang().await.unwrap();
    // Worded in several ways, depending on what it was waiting for.
    let silence = failure(get_through_proxy(cluster).arg("--request-timeout=1s")).to_lowercase();
    assert!(silence.contains("timeout") || silence.contains("deadline exceeded"), "{silence}");

    // The handshake and the request are two ways there and back at least.
    let delay = Duration::from_millis(200);
    cluster.proxy().delay(delay).await.unwrap();
    let start = Instant::now();
    succeed(&mut get_through_proxy(cluster));
    assert!(start.elapsed() >= delay * 4, "{:?}", start.elapsed());

    cluster.proxy().pass().await.unwrap();
    succeed(&mut get_through_proxy(cluster));
}

#[tokio::test]
async fn a_killed_api_server_comes_back_with_its_port_and_its_data() {
    let environment = Environment::builder().start().await.unwrap();
    let cluster = &environment.clusters()[0];
    succeed(cluster.kubectl().args(["create", "namespace", "durable"]));
    let events = cluster.audit_log().events().unwrap().len();
    let url = cluster.url();

    cluster.kill();
    let refused = failure(cluster.kubectl().args(["get", "--raw", "/readyz"]));
    assert!(refused.contains("refused"), "{refused}");
    failure(&mut get_through_proxy(cluster));

    cluster.restart().await.unwrap();
    assert_eq!(cluster.url(), url);
    succeed(cluster.kubectl().args(["get", "namespace", "durable"]));
    succeed(&mut get_through_proxy(cluster));
    assert!(cluster.audit_log().events().unwrap().len() > events);
}
