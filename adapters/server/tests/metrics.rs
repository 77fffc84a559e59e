//! What Prometheus is told of a worker.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::net::SocketAddr;

use common::{SOON, World, everything, spec};
use dcm_server::{MetricsError, MetricsListener, ServeError, serve_with_metrics};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

const WATCHED: &str = "dcm_api_requests_total{cluster=\"sim/cluster-1\",verb=\"watch\",code=\"2xx\"}";

/// Sends these bytes, and reads all that is answered.
async fn send(address: SocketAddr, bytes: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let read = tokio::time::timeout(SOON, stream.read_to_end(&mut answer)).await.unwrap();
    // A request that is not read to its end is broken off after its answer.
    assert!(read.is_ok() || !answer.is_empty(), "{read:?}");
    String::from_utf8(answer).unwrap()
}

/// A worker that can be asked, and is stopped.
struct Asked {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    worker: JoinHandle<Result<(), ServeError>>,
}

impl Asked {
    async fn begin(world: &World) -> Self {
        let listener = MetricsListener::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = listener.address();
        let deployment = world.deployment.clone();
        let (stop, stopped) = oneshot::channel();
        let worker = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            serve_with_metrics(&deployment, Some(listener), stopped).await
        });
        Self { address, stop, worker }
    }

    async fn end(self) {
        self.stop.send(()).unwrap();
        self.worker.await.unwrap().unwrap();
    }
}

/// The value of a series.
fn value(text: &str, series: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}

#[tokio::test(start_paused = true)]
async fn a_worker_tells_of_lanes_requests_and_credentials_and_names_no_tenant() {
    let world = World::new(1).await;
    world.put(spec(&everything())).await;
    world.apply().await;
    let asked = Asked::begin(&world).await;
    world.done().await;
    // In virtual time: what was issued is seen by the next look at credentials, of which nothing tells.
    tokio::time::sleep(SOON).await;
    tokio::time::resume();

    let text = send(asked.address, &get("/metrics", "localhost")).await;
    assert!(text.starts_with("HTTP/1.1 200") && text.contains("openmetrics-text"), "{text}");
    assert_eq!(value(&text, "dcm_lanes{state=\"done\"}"), Some(1.0), "{text}");
    assert_eq!(value(&text, "dcm_lanes{state=\"abandoned\"}"), Some(0.0));
    assert_eq!(value(&text, "dcm_clusters{state=\"connected\"}"), Some(1.0));
    assert!(value(&text, WATCHED).is_some_and(|watched| watched > 0.0), "{text}");
    let credentials = text.lines().filter(|line| line.starts_with("dcm_credentials{"));
    assert_eq!(credentials.filter(|line| !line.ends_with(" 0")).count(), 1, "{text}");
    // The project, the cloud's namespace and its users are in no label.
    for name in ["ann", "team", "project"] {
        assert!(!text.contains(&format!("\"{name}")), "{name}: {text}");
    }
    for (request, status) in [("GET /", "404"), ("POST /metrics", "405"), ("HEAD /metrics", "200")] {
        let request = format!("{request} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let answer = send(asked.address, &request).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{request}");
    }
    let address = asked.address;
    asked.end().await;
    // Nobody answers when the worker has ended.
    assert!(TcpStream::connect(address).await.is_err());
}

/// A request as any client sends it.
fn get(target: &str, host: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n")
}

#[tokio::test]
async fn only_a_loopback_address_is_listened_on() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:9000"] {
        let refused = MetricsListener::bind(address.parse().unwrap()).await.unwrap_err();
        assert!(matches!(refused, MetricsError::NotLoopback { .. }), "{address}: {refused}");
    }
}
