//! Heads of requests: those that are never sent to their end, and long ones.

use std::io::Write as _;
use std::net::TcpStream;

use super::{limited, others_are_answered, read};
use crate::common::installation::{SOON, until};

const HALF: &[u8] = b"GET /v2/projects HTTP/1.1\r\nHost: loc";

#[tokio::test]
async fn connections_with_half_a_head_make_room_for_others() {
    let server = limited(&["--connections-max", "3", "--idle-timeout", "10m"]);
    let mut half: Vec<TcpStream> = (0..3).map(|_| server.connect(HALF)).collect();
    until("a connection beside them", async || {
        // One that was closed for others answers no more.
        let mut other = TcpStream::connect(server.address()).unwrap();
        other.set_read_timeout(Some(SOON)).unwrap();
        let asked = b"GET /v2/projects HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let is_sent = other.write_all(asked).is_ok();
        (is_sent && read(&mut other).starts_with("HTTP/1.1 200 ")).then_some(())
    })
    .await;
    others_are_answered(&server);
    // The oldest made room, and nobody waited for its time.
    assert_eq!(read(&mut half[0]), "");
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
