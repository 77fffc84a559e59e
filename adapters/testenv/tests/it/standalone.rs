//! Servers that keep documents: they start, die, freeze and come back.
#![allow(clippy::unwrap_used)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use dcm_testenv::Standalone;
use dcm_testenv::effort::patience;

/// True when somebody answers there.
fn listens(server: &Standalone) -> bool {
    TcpStream::connect(server.address()).is_ok()
}

#[tokio::test]
async fn an_etcd_dies_and_comes_back() {
    let server = Standalone::etcd().await.unwrap();
    assert!(listens(&server));
    server.kill();
    assert!(!listens(&server));
    server.start().await.unwrap();
    assert!(listens(&server));
}

#[tokio::test]
async fn a_server_for_mongodb_clients_dies_and_comes_back() {
    let server = Standalone::mongodb().await.unwrap();
    assert!(listens(&server));
    server.kill();
    server.start().await.unwrap();
    assert!(listens(&server));
}

/// One `hello`, and the length of the answer; none when there is no answer.
fn hello(stream: &mut TcpStream) -> Option<usize> {
    // {hello: 1, $db: "admin"}
    let body = b"\x1f\0\0\0\x10hello\0\x01\0\0\0\x02$db\0\x06\0\0\0admin\0\0";
    let length = u32::try_from(16 + 4 + 1 + body.len()).unwrap();
    let head = [length, 1, 0, 2013, 0].map(u32::to_le_bytes).concat();
    stream.write_all(&[&head, &[0][..], &body[..]].concat()).unwrap();
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap();
    stream.read_exact(&mut vec![0; length - 4]).ok().map(|()| length)
}

#[tokio::test]
async fn clients_of_mongodb_are_answered_also_while_another_one_says_half_of_something() {
    let server = Standalone::mongodb().await.unwrap();
    let mut half = TcpStream::connect(server.address()).unwrap();
    half.write_all(&[100, 0, 0, 0]).unwrap();
    let mut streams = [(); 2].map(|()| TcpStream::connect(server.address()).unwrap());
    for stream in &mut streams {
        assert!(hello(stream).is_some_and(|length| length > 100));
        assert!(hello(stream).is_some());
    }
    // What can't be a message ends its connection alone.
    half.write_all(&[0xff; 1000]).unwrap();
    let mut bad = TcpStream::connect(server.address()).unwrap();
    bad.write_all(&[0xff; 16]).unwrap();
    assert_eq!(bad.read(&mut [0; 1]).unwrap_or(0), 0);
    assert!(hello(&mut streams[0]).is_some());
}

#[tokio::test]
async fn an_etcd_with_tls_has_files_for_its_clients() {
    let server = Standalone::etcd_with_tls().await.unwrap();
    let (certificate, key) = server.identity();
    for file in [server.authority(), certificate, key] {
        assert!(std::fs::read_to_string(file).unwrap().starts_with("-----BEGIN"));
    }
}

#[tokio::test]
async fn a_frozen_server_says_nothing_until_it_is_thawed() {
    let server = Standalone::etcd().await.unwrap();
    let says = |within: Duration| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(within)).unwrap();
        stream.write_all(b"GET /health HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer.contains("200 OK")
    };
    server.freeze();
    assert!(!says(Duration::from_millis(500)));
    server.thaw();
    assert!(says(patience()));
}
