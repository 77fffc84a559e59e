//! What Prometheus is told of a worker.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::net::SocketAddr;
use std::time::Duration;

use crate::common::{SOON, World, everything, spec};
use dcm_server::{ListenError, Listeners, LoopbackListener, ServeError, serve_at};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How long the head of a request may take.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

const WATCHED: &str = "dcm_cluster_requests_total{cluster=\"sim/cluster-1\",verb=\"watch\",code=\"2xx\"}";

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
        let listener = LoopbackListener::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = listener.address();
        let deployment = world.deployment.clone();
        let (stop, stopped) = oneshot::channel();
        let worker = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            serve_at(&deployment, Listeners { metrics: Some(listener), ..Listeners::default() }, stopped)
                .await
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
    for (store, kind) in
        [("documents", "get"), ("documents", "write"), ("contexts", "write"), ("contexts", "watch")]
    {
        let of = |outcome| {
            let labels = format!("store=\"{store}\",kind=\"{kind}\",outcome=\"{outcome}\"");
            value(&text, &format!("dcm_store_requests_total{{{labels}}}"))
        };
        assert!(of("done").is_some_and(|done| done > 0.0), "{store} {kind}: {text}");
        assert_eq!(of("failed"), Some(0.0), "{store} {kind}: {text}");
    }
    // A token that lives for an hour, and a certificate that lives for a year.
    assert_eq!(value(&text, "dcm_credentials{days_left=\"under 1\"}"), Some(1.0), "{text}");
    assert_eq!(value(&text, "dcm_credentials{days_left=\"90 or more\"}"), Some(1.0), "{text}");
    // The project, the cloud's namespace and its users are in no label.
    for name in ["ann", "team", "project"] {
        assert!(!text.contains(&format!("\"{name}")), "{name}: {text}");
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
async fn what_is_no_request_for_metrics_by_a_name_of_this_machine_is_refused() {
    let world = World::new(1).await;
    let asked = Asked::begin(&world).await;
    for host in [
        "example.com",
        "localhost.example.com:80",
        "192.0.2.1",
        &format!("rebound.test:{}", asked.address.port()),
    ] {
        // Also where nothing is, or is answered.
        for target in ["/metrics", "/", "http://localhost/metrics"] {
            let answer = send(asked.address, &get(target, host)).await;
            let is_refused = answer.starts_with("HTTP/1.1 421 Misdirected Request\r\n");
            let says_nothing = answer.ends_with("\r\n\r\n421 Misdirected Request\n");
            assert!(is_refused && says_nothing, "{host} {target}: {answer}");
        }
    }
    let many = format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(20 * 1024));
    let table = [
        (get("/metrics", "localhost"), "200 OK"),
        (get("/metrics", &asked.address.to_string()), "200 OK"),
        (get("/metrics?name=a", "[::1]"), "200 OK"),
        (get("/", "localhost"), "404 Not Found"),
        ("GET /metrics HTTP/1.0\r\n\r\n".to_owned(), "200 OK"),
        ("GET /metrics HTTP/1.1\r\n\r\n".to_owned(), "400 Bad Request"),
        (
            "GET http://example.com/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
            "421 Misdirected Request",
        ),
        ("nonsense\r\n\r\n".to_owned(), "400 Bad Request"),
        (many, "431 Request Header Fields Too Large"),
    ];
    for (bytes, status) in table {
        let answer = send(asked.address, &bytes).await;
        let (version, rest) = answer.split_once(' ').unwrap();
        assert!(version.starts_with("HTTP/1.") && rest.starts_with(&format!("{status}\r\n")), "{answer}");
    }
    asked.end().await;
}

#[tokio::test]
async fn other_methods_are_refused_with_those_that_there_are_and_a_head_has_no_body() {
    let world = World::new(1).await;
    let asked = Asked::begin(&world).await;
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"] {
        let request = format!("{method} /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
        let answer = send(asked.address, &request).await;
        assert!(answer.starts_with("HTTP/1.1 405 Method Not Allowed\r\n"), "{answer}");
        assert!(answer.contains("\r\nallow: GET, HEAD\r\n"), "{answer}");
    }
    let answer = send(asked.address, "HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("\r\ncontent-length: "), "{answer}");
    assert!(answer.ends_with("\r\n\r\n") && answer.matches("\r\n\r\n").count() == 1, "{answer}");
    asked.end().await;
}

#[tokio::test(start_paused = true)]
async fn who_does_not_finish_a_request_is_not_waited_for() {
    let world = World::new(1).await;
    let asked = Asked::begin(&world).await;
    for begun in ["", "GET /metrics HTTP/1.1\r\nHost: local"] {
        let since = tokio::time::Instant::now();
        let answer = send(asked.address, begun).await;
        // The clock jumps while packets are on their way, so it may be ahead of what they bring.
        let waited = since.elapsed();
        assert!(!answer.contains("200 OK") && waited <= 2 * HEAD_TIMEOUT, "{answer}: {waited:?}");
    }
    asked.end().await;
}

#[tokio::test]
async fn only_a_loopback_address_is_listened_on() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:9000"] {
        let refused = LoopbackListener::bind(address.parse().unwrap()).await.unwrap_err();
        assert!(matches!(refused, ListenError::NotLoopback { .. }), "{address}: {refused}");
    }
}
