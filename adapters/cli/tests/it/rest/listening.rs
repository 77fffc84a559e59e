//! Where the API is served, and to whom.

use std::io::Write as _;
use std::net::TcpStream;

use crate::common::User;
use crate::common::server::Server;

#[test]
fn an_address_that_others_can_reach_is_not_listened_on_without_more() {
    let said = User::new().run(["serve", "--listen", "192.0.2.1:9077"]).ended_with(1);
    assert!(said.starts_with("dcm: 192.0.2.1:9077 is no loopback address"), "{said}");
}

#[tokio::test]
async fn pages_from_elsewhere_and_other_names_of_the_server_are_refused() {
    let server = Server::new();
    let refused = |request: &str| server.ask(request).lines().next().unwrap().to_owned();
    assert_eq!(refused("GET /v2/projects"), "200");
    assert_eq!(refused("POST /v2/projects/p/logical-clouds/c/terminate\nOrigin: https://example.com"), "403");
    assert_eq!(refused("GET /v2/projects\nSec-Fetch-Site: cross-site"), "403");
    let rebound = "GET /v2/projects HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n";
    let answer = server.send(rebound.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 421 "), "{answer}");
    let problem = r#"{"type":"/problems/misdirected","title":"This is another host","status":421,"detail":"this server does not answer by that name","instance":"/v2/projects"}"#;
    assert_eq!(answer.split_once("\r\n\r\n").unwrap().1, problem);
}

#[tokio::test]
async fn a_request_that_is_under_way_is_answered_before_the_server_ends() {
    let server = Server::new();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let body = r#"{"metadata": {"name": "late"}}"#;
    let (first, rest) = body.split_at(10);
    let head = format!(
        "POST /v2/projects HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{first}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // One that is asked behind it is answered: the server has read the head.
    assert!(server.ask("GET /v2/projects").starts_with("200"));
    let stopping = server.begin_to_stop();
    stopping.until_nobody_listens().await;
    stream.write_all(rest.as_bytes()).unwrap();
    let answer = std::io::read_to_string(&stream).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    let person = stopping.end();
    assert!(person.run(["apply", "--help"]).done().contains("dcm apply"));
    let again = Server::of(person);
    assert!(again.ask("GET /v2/projects/late").starts_with("200"));
}

#[tokio::test]
async fn every_answer_names_its_request() {
    let server = Server::new();
    let ask = |header: &str| {
        let request =
            format!("GET /v2/projects HTTP/1.1\r\nHost: localhost\r\n{header}Connection: close\r\n\r\n");
        let answer = server.send(request.as_bytes());
        let id = answer.lines().find_map(|line| line.strip_prefix("x-request-id: ")).unwrap();
        id.to_owned()
    };
    assert_eq!(ask("X-Request-Id: order-66\r\n"), "order-66");
    let long = format!("X-Request-Id: {}\r\n", "x".repeat(129));
    for header in ["", "X-Request-Id: two words\r\n", long.as_str()] {
        let id = ask(header);
        assert!(id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{header}: {id}");
    }
}

#[tokio::test]
async fn every_request_is_in_the_log_with_its_id_and_its_caller() {
    let (server, log) = Server::logging(User::new());
    server.ask("GET /v2/projects/absent\nX-Request-Id: order-66");
    server.stop();
    let line = log.iter().find(|line| line.contains("order-66")).unwrap();
    for part in [
        "request_id=\"order-66\"",
        "caller=\"anonymous\"",
        "answered",
        "method=GET",
        "status=404",
        "/v2/projects/absent",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
}
