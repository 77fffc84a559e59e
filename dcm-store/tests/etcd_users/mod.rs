//! An etcd that asks who somebody is.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_testenv::Standalone;
use serde_json::{Value, json};

/// Asks etcd over HTTP, as its own documentation shows it.
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

/// From now on it asks: `us` may do everything below `dcm/` and nothing else, and `root` all. Both have this password.
pub(crate) fn demand_users(server: &Standalone, password: &str) {
    for (name, role) in [("root", "root"), ("us", "ours")] {
        ask(server, "auth/user/add", &json!({"name": name, "password": password}));
        ask(server, "auth/role/add", &json!({"name": role}));
        ask(server, "auth/user/grant", &json!({"user": name, "role": role}));
    }
    let [begin, end] = ["dcm/", "dcm0"].map(|key| STANDARD.encode(key));
    let ours = json!({"permType": 2, "key": begin, "range_end": end});
    ask(server, "auth/role/grant", &json!({"name": "ours", "perm": ours}));
    ask(server, "auth/enable", &json!({}));
}
