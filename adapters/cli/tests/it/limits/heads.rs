//! Heads of requests: those that are never sent to their end, and long ones.

use std::io::{ErrorKind, Read as _};
use std::net::{SocketAddr, TcpStream};

use super::{limited, others_are_answered, until_there_is_room};
use crate::common::installation::until;
use crate::common::server::Server;

const HALF: &[u8] = b"GET /v2/projects HTTP/1.1\r\nHost: loc";

/// True when a server has read all that was sent on the connection from this address.
fn is_read(server: &Server, from: SocketAddr) -> bool {
    let port = |address: SocketAddr| format!(":{:04X}", address.port());
    let (own, other) = (port(from), port(server.address()));
    let all = std::fs::read_to_string("/proc/net/tcp").unwrap();
    all.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_it = fields[1].ends_with(&other) && fields[2].ends_with(&own);
        // It was taken, and nothing waits to be read.
        is_it && fields[9] != "0" && fields[4].ends_with(":00000000")
    })
}

#[tokio::test]
async fn connections_with_half_a_head_make_room_for_others() {
    let server = limited(&["--connections-max", "3", "--idle-timeout", "10m"]);
    let mut half: Vec<TcpStream> = (0..3).map(|_| server.connect(HALF)).collect();
    for half in &half {
        let from = half.local_addr().unwrap();
        until("a half of a head", async || is_read(&server, from).then_some(())).await;
    }
    until_there_is_room(&server).await;
    others_are_answered(&server);
    // They made room, and nobody waited for their time. How many did depends on how soon the others' connections were closed.
    let has_ended = |half: &mut TcpStream| {
        half.set_nonblocking(true).unwrap();
        match half.read(&mut [0]) {
            Ok(bytes) => bytes == 0,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    };
    assert!(half.iter_mut().any(has_ended));
}

#[test]
fn a_head_with_the_longest_token_is_read_and_a_much_longer_one_is_not() {
    let server = limited(&[]);
    let ask = |length: usize| {
        let token = "t".repeat(length);
        let request = format!(
            "GET /v2/projects HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        server.send(request.as_bytes())[..12].to_owned()
    };
    assert_eq!(ask(16 * 1024), "HTTP/1.1 200");
    assert_eq!(ask(60 * 1024), "HTTP/1.1 431");
}
