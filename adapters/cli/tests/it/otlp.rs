//! Spans of a server, as a collector of OpenTelemetry gets them.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use crate::common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use common::server::Server;
use common::{UNREACHABLE, User};
use dcm_identity::tls;
use dcm_sync::runtime::TokioClock;
use dcm_testenv::effort::patience;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::{Span, span::SpanKind};
use prost::Message as _;
use serde_json::json;
use tokio::time::Instant;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

const DOCUMENT: &str = "{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {name: c}, spec: {clusters: [{provider: p, cluster: c}]}}";

/// A collector that is away: no process listens at this port.
const AWAY: &str = "http://127.0.0.1:1";

/// Longest time of one try to send spans.
const TRY_LIMIT: Duration = Duration::from_secs(10);

/// How many spans wait for a collector at most.
const QUEUE_SPANS: usize = 2048;

/// More requests than have room there, and at the collector, and how many of them are sent at once.
const ASKED: usize = 4000;
const ASKED_AT_ONCE: usize = 500;

/// A request that a collector got: its head and its body.
struct Got {
    head: String,
    body: Vec<u8>,
}

/// A collector that takes everything.
struct Collector {
    url: String,
    got: mpsc::Receiver<Got>,
}

impl Collector {
    fn new() -> Self {
        Self::on(bound())
    }

    /// Takes what comes there, also what came before.
    fn on(listener: TcpListener) -> Self {
        let url = url_of(&listener);
        Self { url, got: taking(listener, take_all) }
    }

    /// The same over TLS, with a certificate that it has written to a file of this folder.
    fn over_tls(folder: &Path, file: &str) -> Self {
        let config = identity(folder, file);
        let listener = bound();
        let url = url_of(&listener).replace("http:", "https:");
        let take = move |connection, gets: &mpsc::Sender<Got>| {
            let session = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            take_all(rustls::StreamOwned::new(session, connection), gets);
        };
        Self { url, got: taking(listener, take) }
    }

    /// Spans until one is wanted, with all that was sent by then.
    fn until(&self, is_wanted: impl Fn(&Span) -> bool) -> (Span, Vec<Got>) {
        let (mut all, begun) = (Vec::new(), Instant::now());
        loop {
            let got = self.got.recv_timeout(patience().saturating_sub(begun.elapsed())).unwrap();
            let found = got.spans().into_iter().find(&is_wanted);
            all.push(got);
            if let Some(found) = found {
                return (found, all);
            }
        }
    }
}

impl Got {
    fn request(&self) -> ExportTraceServiceRequest {
        ExportTraceServiceRequest::decode(&*self.body).unwrap()
    }

    fn spans(&self) -> Vec<Span> {
        let scopes = self.request().resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }

    fn resource(&self) -> BTreeMap<String, String> {
        attributes(&self.request().resource_spans[0].resource.as_ref().unwrap().attributes)
    }
}

fn bound() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

fn url_of(listener: &TcpListener) -> String {
    format!("http://{}", listener.local_addr().unwrap())
}

/// What is got over all connections, each of which has a thread of its own.
fn taking(
    listener: TcpListener,
    take: impl Fn(TcpStream, &mpsc::Sender<Got>) + Clone + Send + 'static,
) -> mpsc::Receiver<Got> {
    let (gets, got) = mpsc::channel();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let (gets, take) = (gets.clone(), take.clone());
            std::thread::spawn(move || take(connection.unwrap(), &gets));
        }
    });
    got
}

/// A TLS server with a certificate that is its own authority, in a file of this folder.
fn identity(folder: &Path, file: &str) -> Arc<rustls::ServerConfig> {
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let files = tls::Files { certificate: folder.join(file), key: folder.join(format!("{file}.key")) };
    std::fs::write(&files.certificate, params.self_signed(&key).unwrap().pem()).unwrap();
    std::fs::write(&files.key, key.serialize_pem()).unwrap();
    std::fs::set_permissions(&files.key, Permissions::from_mode(0o600)).unwrap();
    tls::server(&files, &tls::Clients::NotAsked, &[tls::HTTP_1], Arc::new(TokioClock::new())).unwrap()
}

/// Takes all requests of a connection, and answers them.
fn take_all(connection: impl Read + Write, gets: &mpsc::Sender<Got>) {
    let mut connection = BufReader::new(connection);
    while take(&mut connection, gets).is_some() {}
}

/// Takes one request, and answers it.
fn take(reader: &mut BufReader<impl Read + Write>, gets: &mpsc::Sender<Got>) -> Option<()> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).ok()?;
    // Nobody may want to know any more.
    let _ = gets.send(Got { head, body });
    let connection = reader.get_mut();
    connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").ok()?;
    connection.flush().ok()
}

fn attributes(of: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |value: &KeyValue| match value.value.as_ref().unwrap().value.as_ref().unwrap() {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        other => panic!("{other:?}"),
    };
    of.iter().map(|one| (one.key.clone(), text(one))).collect()
}

fn has(span: &Span, name: &str, value: &str) -> bool {
    attributes(&span.attributes).get(name).is_some_and(|found| found == value)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn map<const N: usize>(entries: [(&str, &str); N]) -> BTreeMap<String, String> {
    entries.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// True for the line of the log that tells what is lost.
fn is_told(line: &str) -> bool {
    line.contains("spans can't be sent to the collector")
}

/// A server that sends to an endpoint, with what it writes to its log.
fn sending_to(endpoint: &str) -> (Server, mpsc::Receiver<String>) {
    let options = ["--store", "memory:", "--listen", "127.0.0.1:0", "--otlp-endpoint", endpoint];
    Server::serving(User::new(), &options)
}

#[test]
fn a_request_is_a_span_in_the_trace_of_its_caller_and_holds_no_secret() {
    let collector = Collector::new();
    let headers = "authorization=Bearer%20hunter2,x-tenant=blue".to_owned();
    let person = User::with([("OTEL_EXPORTER_OTLP_HEADERS", headers)]);
    let token = person.run(["token", "new", "ann", "--user", "ann", "--token-file", "tokens.yaml"]).done();
    let settings = json!({
        "store": "memory:",
        "authentication": {"tokens": {"file": "tokens.yaml"}},
        "roles": [{"role": "platform-admin", "users": ["ann"]}],
        "otlp": {"endpoint": collector.url},
    });
    person.write("settings.yaml", &settings.to_string());
    let options = ["--config", "settings.yaml", "--listen", "127.0.0.1:0", "-vv"];
    let (server, log) = Server::serving(person, &options);
    let traceparent = format!("00-{TRACE}-{CALLER}-01");
    let asked = format!(
        "GET /v2/projects/shop-1?a=hunter3\nAuthorization: Bearer {}\nTraceparent: {traceparent}\n\
         Tracestate: a=hunter4\nX-Request-Id: r-1",
        token.trim()
    );
    let answer = server.ask(&asked);
    assert!(answer.starts_with("400\n"), "{answer}");
    let (span, got) = collector.until(|span| has(span, "request_id", "r-1"));
    assert_eq!(span.name, "GET /v2/projects/{project}");
    assert_eq!(span.kind(), SpanKind::Server);
    assert_eq!((hex(&span.trace_id), hex(&span.parent_span_id)), (TRACE.to_owned(), CALLER.to_owned()));
    assert!(span.end_time_unix_nano >= span.start_time_unix_nano && span.start_time_unix_nano > 0);
    assert_eq!((span.events, &*span.trace_state), (vec![], ""));
    let expected = map([
        ("request_id", "r-1"),
        ("caller", "ann"),
        ("traceparent", &traceparent),
        ("http.request.method", "GET"),
        ("http.route", "/v2/projects/{project}"),
        ("http.response.status_code", "400"),
        ("url.path", "/v2/projects/shop-1"),
    ]);
    assert_eq!(attributes(&span.attributes), expected);
    let last = got.last().unwrap();
    let resource = last.resource();
    assert_eq!(resource["service.name"], "dcm");
    assert_eq!(resource["service.version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(resource["service.instance.id"].len(), 36);
    assert!(last.head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{}", last.head);
    for header in ["content-type: application/x-protobuf", "authorization: Bearer hunter2", "x-tenant: blue"]
    {
        assert!(last.head.contains(header), "{}", last.head);
    }
    for got in got {
        let body = String::from_utf8_lossy(&got.body);
        assert!(!body.contains(token.trim()) && !body.contains("hunter"), "{body}");
    }
    server.stop();
    let logged: Vec<String> = log.iter().collect();
    assert!(
        logged.iter().any(|line| line.contains("answered") && line.contains(&traceparent)),
        "{logged:#?}"
    );
    assert!(!logged.iter().any(|line| line.contains("hunter")), "{logged:#?}");
}

#[test]
fn a_request_without_a_trace_begins_one_and_what_was_asked_last_is_sent_at_the_end() {
    let collector = Collector::new();
    let (server, _log) = sending_to(&collector.url);
    // Its caller doesn't send this one.
    server.ask(&format!("GET /v2/nothing\nX-Request-Id: r-0\nTraceparent: 00-{TRACE}-{CALLER}-00"));
    server.ask("GET /v2/nothing\nX-Request-Id: r-1\nTraceparent: hunter2");
    let stopping = server.begin_to_stop();
    let (span, got) = collector.until(|span| has(span, "request_id", "r-1"));
    assert_eq!(span.name, "GET");
    assert!(span.parent_span_id.is_empty(), "{span:?}");
    let expected = map([
        ("request_id", "r-1"),
        ("caller", "anonymous"),
        ("http.request.method", "GET"),
        ("http.response.status_code", "404"),
    ]);
    assert_eq!(attributes(&span.attributes), expected);
    assert!(!got.iter().flat_map(Got::spans).any(|span| has(&span, "request_id", "r-0")));
    stopping.end();
}

#[test]
fn a_call_to_a_cluster_is_a_span_in_that_of_its_shard() {
    let person = User::new();
    let file = person.write("config", UNREACHABLE);
    person.run(["cluster", "add", "p/c", "--unchecked", "--kubeconfig", file.to_str().unwrap()]).done();
    person.run_with_input(&["apply", "--no-wait", "-f", "-"], DOCUMENT).done();
    let collector = Collector::new();
    let options = ["--listen", "127.0.0.1:0", "--otlp-endpoint", &collector.url];
    let (server, _log) = Server::serving(person, &options);
    let (shard, got) = collector.until(|span| span.name == "shard");
    assert_eq!(attributes(&shard.attributes), map([("cluster", "p/c")]));
    let call = got.iter().flat_map(Got::spans).find(|span| span.parent_span_id == shard.span_id).unwrap();
    assert_eq!((&*call.name, &call.trace_id), ("call", &shard.trace_id));
    assert_eq!(attributes(&call.attributes), map([("verb", "connect"), ("outcome", "unreachable")]));
    for got in got {
        assert!(!String::from_utf8_lossy(&got.body).contains("hunter"));
    }
    server.stop();
}

#[test]
fn spans_are_sent_over_tls_to_whom_an_authority_vouches_for_and_to_nobody_else() {
    let person = User::with([("OTEL_EXPORTER_OTLP_HEADERS", "authorization=hunter2".to_owned())]);
    let collector = Collector::over_tls(person.home(), "own.pem");
    let other = Collector::over_tls(person.home(), "other.pem");
    let serving = |person, endpoint: &str, authorities| {
        let options = ["--store", "memory:", "--listen", "127.0.0.1:0", "--otlp-endpoint", endpoint];
        Server::serving(person, &[&options[..], &["--otlp-authorities", authorities]].concat())
    };
    let (server, _log) = serving(person, &collector.url, "own.pem");
    server.ask("GET /v2/projects\nX-Request-Id: r-1");
    let (_, got) = collector.until(|span| has(span, "request_id", "r-1"));
    assert!(got.last().unwrap().head.contains("authorization: hunter2"));
    let person = server.begin_to_stop().end();
    let (server, log) = serving(person, &other.url, "own.pem");
    server.ask("GET /v2/projects");
    let told = log.iter().find(|line| is_told(line)).unwrap();
    assert!(told.contains("network error") && !told.contains("hunter"), "{told}");
    assert!(other.got.try_recv().is_err());
    server.stop();
}

#[test]
fn what_finds_no_room_is_dropped_and_what_has_room_waits_for_a_collector_that_is_slow() {
    let slow = bound();
    let (server, _log) = sending_to(&url_of(&slow));
    let requests = format!("GET /v2/projects HTTP/1.1\r\nHost: {}\r\n", server.address());
    let last = format!("{requests}Connection: close\r\n\r\n");
    let requests = format!("{}{last}", format!("{requests}\r\n").repeat(ASKED_AT_ONCE - 1));
    for _ in 0..ASKED / ASKED_AT_ONCE {
        let answers = server.send(requests.as_bytes());
        assert_eq!(answers.matches("HTTP/1.1 200").count(), ASKED_AT_ONCE);
    }
    let collector = Collector::on(slow);
    // A batch that was under way may come twice.
    let mut spans = BTreeSet::new();
    while spans.len() < QUEUE_SPANS {
        spans.extend(
            collector.got.recv_timeout(patience()).unwrap().spans().into_iter().map(|span| span.span_id),
        );
    }
    server.stop();
    spans.extend(collector.got.try_iter().flat_map(|got| got.spans()).map(|span| span.span_id));
    assert!(spans.len() < ASKED, "{}", spans.len());
}

#[test]
fn nobody_waits_for_a_collector_that_hangs() {
    let hanging = bound();
    let (server, log) = sending_to(&url_of(&hanging));
    server.ask("GET /v2/projects");
    // From now on it waits for an answer, for as long as a try may take.
    let (mut connection, _) = hanging.accept().unwrap();
    connection.read_exact(&mut [0]).unwrap();
    // What is asked now is sent in another try.
    assert!(server.ask("GET /v2/projects").starts_with("200\n"));
    let begun = Instant::now();
    let stopping = server.begin_to_stop();
    // The log ends with the server.
    let ended = std::iter::repeat_with(|| log.recv_timeout(patience())).find_map(Result::err);
    assert_eq!(ended, Some(RecvTimeoutError::Disconnected));
    stopping.end();
    let took = begun.elapsed();
    // It has two seconds to send its last spans. A server that waited for a try would take as long as a try may.
    assert!(took < TRY_LIMIT * 9 / 10, "it took {took:?}");
}

#[test]
fn a_collector_that_is_away_is_told_of_once() {
    let person = User::with([("OTEL_EXPORTER_OTLP_HEADERS", "authorization=hunter2".to_owned())]);
    let options = ["--store", "memory:", "--listen", "127.0.0.1:0", "--otlp-endpoint", AWAY, "-vv"];
    let (server, log) = Server::serving(person, &options);
    server.ask("GET /v2/projects");
    let told = log.iter().find(|line| is_told(line)).unwrap();
    assert!(told.contains("WARN") && told.contains("network error") && !told.contains("hunter"), "{told}");
    assert!(server.ask("GET /v2/projects").starts_with("200\n"));
    server.stop();
    assert_eq!(log.iter().filter(|line| is_told(line)).count(), 0);
}

#[test]
fn another_protocol_is_refused_before_anything_is_served() {
    let person = User::with([("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc".to_owned())]);
    let arguments = ["serve", "--store", "memory:", "--otlp-endpoint", "http://127.0.0.1:4317"];
    let said = person.run(arguments).ended_with(1);
    assert!(said.contains("OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf"), "{said}");
}
