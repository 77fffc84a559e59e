//! What Prometheus is told of a worker.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::net::SocketAddr;
use std::time::Duration;

use common::{SOON, World, everything, spec};
use dcm_server::{MetricsError, MetricsListener, serve_with_metrics};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const ANY_PORT: &str = "127.0.0.1:0";

const DONE: &str = "dcm_lanes{state=\"done\"}";
const WATCHED: &str = "dcm_api_requests_total{cluster=\"sim/cluster-1\",verb=\"watch\",code=\"2xx\"}";

/// The whole answer to a request.
async fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("{request} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(SOON, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    answer
}

/// The value of a series.
fn value(text: &str, series: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}

#[tokio::test]
async fn a_worker_tells_of_lanes_requests_and_credentials_and_names_no_tenant() {
    let world = World::new(1).await;
    world.put(spec(&everything())).await;
    world.apply().await;
    // What an earlier worker brought there, this one's first look at credentials finds.
    let engine = world.deployment.engine(dcm_sync::engine::Acquire::All);
    world.done().await;
    engine.shutdown().await;
    let listener = MetricsListener::bind(ANY_PORT.parse().unwrap()).await.unwrap();
    let address = listener.address();
    let deployment = world.deployment.clone();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let worker = tokio::spawn(async move {
        let stopped = async { drop(stopped.await) };
        serve_with_metrics(&deployment, Some(listener), stopped).await
    });
    let told = async {
        loop {
            let text = ask(address, "GET /metrics").await;
            let is_there = |series: &str| value(&text, series).is_some_and(|value| value > 0.0);
            let credentials = text.lines().filter(|line| line.starts_with("dcm_credentials{"));
            if credentials.filter(|line| !line.ends_with(" 0")).count() > 0
                && is_there(DONE)
                && is_there(WATCHED)
            {
                return text;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let text = tokio::time::timeout(Duration::from_secs(30), told).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 200") && text.contains("openmetrics-text"), "{text}");
    assert_eq!(value(&text, DONE), Some(1.0), "{text}");
    assert_eq!(value(&text, "dcm_lanes{state=\"abandoned\"}"), Some(0.0));
    assert_eq!(value(&text, "dcm_clusters{state=\"connected\"}"), Some(1.0));
    // The project, the cloud's namespace and its users are in no label.
    for name in ["ann", "team", "project"] {
        assert!(!text.contains(&format!("\"{name}")), "{name}: {text}");
    }
    for (request, status) in [("GET /", "404"), ("POST /metrics", "405"), ("HEAD /metrics", "200")] {
        assert!(ask(address, request).await.starts_with(&format!("HTTP/1.1 {status}")), "{request}");
    }
    stop.send(()).unwrap();
    worker.await.unwrap().unwrap();
    // Nobody answers when the worker has ended.
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn only_a_loopback_address_is_listened_on() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:9000"] {
        let refused = MetricsListener::bind(address.parse().unwrap()).await.unwrap_err();
        assert!(matches!(refused, MetricsError::NotLoopback { .. }), "{address}: {refused}");
    }
}
