//! Nobody who asks takes what the others need: large bodies, slow ones, answers that nobody reads, connections on which nothing is asked,
//! and too much of all.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod bodies;
use crate::common;
mod connections;
mod followers;
mod heads;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use common::User;
use common::installation::until;
use common::server::Server;
use dcm_testenv::effort::patience;

const PROJECT: &str = "POST /v2/projects\n\n{\"metadata\": {\"name\": \"other\"}}";

/// A server with these limits.
fn limited(limits: &[&str]) -> Server {
    Server::serving(User::new(), &[&["--listen", "127.0.0.1:0"], limits].concat()).0
}

/// A change and a read of somebody else are done.
fn others_are_answered(server: &Server) {
    let made = server.ask(PROJECT);
    assert!(made.starts_with("201") || made.starts_with("409"), "{made}");
    assert!(server.ask("GET /v2/projects/other").starts_with("200"));
}

/// Waits until a new connection is answered: where none is idle just now, it is closed at once.
async fn until_there_is_room(server: &Server) {
    until("a connection beside the others", async || {
        let mut other = TcpStream::connect(server.address()).unwrap();
        other.set_read_timeout(Some(patience())).unwrap();
        let asked = b"GET /v2/projects HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let is_sent = other.write_all(asked).is_ok();
        (is_sent && read(&mut other).starts_with("HTTP/1.1 200 ")).then_some(())
    })
    .await;
}

/// The head of a request with a body of so many bytes.
fn head(path: &str, bytes: u64) -> String {
    let headers = format!("Host: localhost\r\nContent-Type: application/json\r\nContent-Length: {bytes}");
    format!("POST {path} HTTP/1.1\r\n{headers}\r\n\r\n")
}

/// All that is answered until the connection ends, however it does.
fn read(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    // What is broken off has its answer before.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}
