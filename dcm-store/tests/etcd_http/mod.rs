//! etcd over HTTP, as its own documentation shows it: what our store would not write.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_testenv::Standalone;
use serde_json::{Value, json};

/// Asks a server that speaks in clear.
pub(crate) fn ask(server: &Standalone, method: &str, body: &Value) -> String {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let body = body.to_string();
    let head = format!("POST /v3/{method} HTTP/1.0\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains(" 200 OK"), "{method}: {answer}");
    answer
}

/// Writes a value.
pub(crate) fn put(server: &Standalone, key: &str, value: &[u8]) {
    ask(server, "kv/put", &json!({"key": STANDARD.encode(key), "value": STANDARD.encode(value)}));
}
