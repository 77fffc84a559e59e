//! etcd over HTTP, as its own documentation shows it: for what a client of ours would not do. The server must speak in clear.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::Standalone;

/// Calls a method of etcd's JSON gateway, such as `kv/put`, and gives its whole answer.
///
/// # Errors
/// Of the connection; and with the answer when the server refuses.
pub fn ask(server: &Standalone, method: &str, body: &Value) -> io::Result<String> {
    let mut stream = TcpStream::connect(server.address())?;
    let body = body.to_string();
    let head = format!("POST /v3/{method} HTTP/1.0\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all((head + &body).as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let is_done = answer.lines().next().is_some_and(|status| status.contains(" 200 "));
    if is_done { Ok(answer) } else { Err(io::Error::other(format!("{method}: {answer}"))) }
}

/// Writes a value.
///
/// # Errors
/// As [`ask`].
pub fn put(server: &Standalone, key: &str, value: &[u8]) -> io::Result<()> {
    let pair = json!({"key": STANDARD.encode(key), "value": STANDARD.encode(value)});
    ask(server, "kv/put", &pair).map(drop)
}

/// Lets the server ask who somebody is from now on: `us` may do everything below `dcm/` and nothing else, and `root` all. Both have
/// this password.
///
/// # Errors
/// As [`ask`].
pub fn demand_users(server: &Standalone, password: &str) -> io::Result<()> {
    for (name, role) in [("root", "root"), ("us", "ours")] {
        ask(server, "auth/user/add", &json!({"name": name, "password": password}))?;
        ask(server, "auth/role/add", &json!({"name": role}))?;
        ask(server, "auth/user/grant", &json!({"user": name, "role": role}))?;
    }
    let [begin, end] = ["dcm/", "dcm0"].map(|key| STANDARD.encode(key));
    let ours = json!({"permType": 2, "key": begin, "range_end": end});
    ask(server, "auth/role/grant", &json!({"name": "ours", "perm": ours}))?;
    ask(server, "auth/enable", &json!({})).map(drop)
}
