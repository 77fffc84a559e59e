//! Callers who share an address with others: whatever those send, these are let in.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use dcm_testenv::Issuer;
use serde_json::json;

use crate::access::callers::Guarded;
use crate::common::installation::until;
use crate::common::server::{Server, has_answer};

/// More than the limit of requests of these tests allows.
const MANY: usize = 50;

fn status(answer: &str) -> &str {
    answer.split('\n').next().unwrap()
}

#[test]
fn a_token_is_looked_at_however_often_others_ask_without_one() {
    let guarded = Guarded::new();
    guarded.configure(&json!({"requests": {"perSecond": 1, "burst": 1}}));
    let (server, headers) = guarded.serve("--listen");
    let forged = format!("Authorization: Bearer dcm_{}_{}", "0".repeat(16), "0".repeat(64));
    for shown in ["", &forged] {
        let request = format!("GET /v2/projects\n{shown}");
        let answers: Vec<String> = (0..MANY).map(|_| server.ask(request.trim_end())).collect();
        assert!(answers.iter().any(|answer| status(answer) == "429"), "{answers:?}");
    }
    assert_eq!(status(&server.ask(&format!("GET /v2/projects\n{}", headers.of("platform")))), "200");
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_an_issuer_that_was_good_before_does_not_wait_for_bad_ones() {
    let issuer = Issuer::builder().client("dcm").user("alice", &[]).user("bob", &[]);
    let issuer = issuer.lifetime(Duration::from_secs(3600)).start().await.unwrap();
    let guarded = Guarded::new();
    guarded.configure(&json!({
        "authentication": {"oidc": [{
            "issuer": issuer.url(), "audiences": ["dcm"], "authorities": issuer.authority(),
        }]},
        "roles": [{"role": "metrics-reader", "users": ["somebody"]}],
        "requests": {"perSecond": 1, "burst": 5},
    }));
    let (server, _) = guarded.serve("--listen");
    let ask = |token: &str| {
        let answer = server.ask(&format!("GET /v2/projects\nAuthorization: Bearer {token}"));
        status(&answer).to_owned()
    };
    let known = issuer.id_token("dcm", "alice").await.unwrap();
    let new = issuer.id_token("dcm", "bob").await.unwrap();
    // They prove who they are, and have no role.
    assert_eq!(ask(&known), "403");
    // Signed as another one is.
    let ((signed, _), (_, signature)) = (known.rsplit_once('.').unwrap(), new.rsplit_once('.').unwrap());
    let forged = format!("{signed}.{signature}");
    let answers: Vec<String> = (0..MANY).map(|_| ask(&forged)).collect();
    assert_eq!(answers[0], "401");
    assert!(answers.iter().any(|answer| answer == "429"), "{answers:?}");
    while ask(&forged) != "429" {}
    assert_eq!((ask(&known), ask(&new)), ("403".to_owned(), "429".to_owned()));
    server.stop();
}

#[test]
fn one_caller_follows_only_so_many_events_at_once_and_others_go_on() {
    let guarded = Guarded::new();
    guarded.configure(&json!({"limits": {"followersPerCallerMax": 1}}));
    let (server, headers) = guarded.serve("--listen");
    let platform = headers.of("platform");
    let made =
        server.ask(&format!("POST /v2/projects\n{platform}\n\n{{\"metadata\": {{\"name\": \"shop-1\"}}}}"));
    assert_eq!(status(&made), "201");
    let cloud = "/v2/projects/shop-1/logical-clouds/followed";
    assert_eq!(status(&server.ask(&format!("PUT {cloud}\n{platform}\n\n{{}}"))), "200");
    let events = format!("{cloud}/events");
    let mut followed = server.follow_as(&events, platform);
    assert!(followed.next().unwrap().contains("event: status"));
    let refused = server.ask(&format!("GET {events}\n{platform}"));
    assert!(refused.starts_with("429\n") && refused.contains("\nretry-after: 1\n"), "{refused}");
    assert!(refused.contains("you follow too many events at once"), "{refused}");
    assert!(server.follow_as(&events, headers.of("viewer")).next().unwrap().contains("event: status"));
    server.stop();
}

/// Asks without waiting for the answer.
fn begin(server: &Server, line: &str, headers: &str, body: &[u8]) -> TcpStream {
    let host = server.address();
    let head = format!("{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n\r\n");
    let mut stream = server.connect(head.as_bytes());
    // Of one that is refused no more is read.
    let _ = stream.write_all(body);
    stream
}

/// The first answer that comes to any of them.
async fn first_answer(asked: &mut [TcpStream]) -> String {
    let answered = until("an answer", async || asked.iter().position(has_answer)).await;
    let mut answer = Vec::new();
    // What is not read to its end is broken off after its answer.
    let _ = asked[answered].read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn a_caller_sends_a_share_of_all_large_bodies_and_others_have_room_left() {
    const BYTES: usize = 8 * 1024 * 1024;
    let options = ["--listen", "127.0.0.1:0", "--body-bytes-max", "33554432"];
    let (server, headers) = Guarded::new().serve_with(&options);
    let (line, body) = ("PUT /v2/projects/shop-1/logical-clouds/c/document", vec![b' '; BYTES]);
    let of = |caller| {
        format!("Content-Type: application/json\r\nContent-Length: {BYTES}\r\n{}", headers.of(caller))
    };
    let mut asked: Vec<_> = (0..2).map(|_| begin(&server, line, &of("admin"), &body[..BYTES - 1])).collect();
    let refused = first_answer(&mut asked).await;
    assert!(refused.starts_with("HTTP/1.1 429 ") && refused.contains("\r\nretry-after: 1\r\n"), "{refused}");
    assert!(refused.contains(r#""detail":"you send too many large bodies at once""#), "{refused}");
    let read = first_answer(&mut [begin(&server, line, &of("platform"), &body)]).await;
    assert!(read.starts_with("HTTP/1.1 400 "), "{read}");
    drop(asked);
    server.stop();
}

#[tokio::test]
async fn a_caller_has_a_share_of_the_requests_that_look_at_a_cluster() {
    const LOOKING_MAX: usize = 64;
    // Connections are made, and nobody says anything on them.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (server, headers) = Guarded::new().serve("--listen");
    let kubeconfig = json!({
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": format!("https://{}", silent.local_addr().unwrap())}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    });
    let cluster =
        json!({"metadata": {"name": "silent"}, "spec": {"kubeconfig": kubeconfig.to_string()}}).to_string();
    let platform = headers.of("platform");
    for (line, body) in [
        ("POST /v2/cluster-providers", r#"{"metadata": {"name": "edge"}}"#),
        ("POST /v2/cluster-providers/edge/clusters?unchecked=true", &cluster),
    ] {
        let made = server.ask(&format!("{line}\n{platform}\n\n{body}"));
        assert_eq!(status(&made), "201", "{made}");
    }
    let check = "GET /v2/cluster-providers/edge/clusters/silent/check";
    let mut asked: Vec<_> = (0..=LOOKING_MAX).map(|_| begin(&server, check, platform, b"")).collect();
    let refused = first_answer(&mut asked).await;
    assert!(refused.starts_with("HTTP/1.1 429 ") && refused.contains("\r\nretry-after: 1\r\n"), "{refused}");
    assert!(
        refused.contains(r#""detail":"you have too many requests under way that look at clusters""#),
        "{refused}"
    );
    // What looks at nothing is not counted.
    let apply = server.ask(&format!("POST /v2/projects/none-1/logical-clouds/c/apply\n{platform}"));
    assert_eq!(status(&apply), "404", "{apply}");
    // Another caller's waits for its turn, which comes as those who asked before have left.
    let mut other = [begin(&server, check, headers.of("registrar"), b"")];
    drop(asked);
    let answer = first_answer(&mut other).await;
    assert!(answer.starts_with("HTTP/1.1 409 ") && answer.contains("/problems/not-ready"), "{answer}");
    server.stop();
}
