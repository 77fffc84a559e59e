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
    post(server, method, "", body)
}

/// The same with another header.
fn post(server: &Standalone, method: &str, header: &str, body: &Value) -> io::Result<String> {
    let body = body.to_string();
    let length = body.len();
    answer(server, &format!("POST /v3/{method} HTTP/1.0\r\n{header}Content-Length: {length}\r\n\r\n{body}"))
}

/// Its metrics, as Prometheus reads them.
///
/// # Errors
/// As [`ask`].
pub fn metrics(server: &Standalone) -> io::Result<String> {
    answer(server, "GET /metrics HTTP/1.0\r\n\r\n")
}

/// The whole answer to a request.
fn answer(server: &Standalone, request: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(server.address())?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let is_done = answer.lines().next().is_some_and(|status| status.contains(" 200 "));
    let asked = request.lines().next().unwrap_or_default();
    if is_done { Ok(answer) } else { Err(io::Error::other(format!("{asked}: {answer}"))) }
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

/// Lets the server forget whom it knows as `us`: whoever is must say so once more. It gives them the password that they have.
///
/// # Errors
/// As [`ask`].
pub fn forget_users(server: &Standalone, password: &str) -> io::Result<()> {
    let known = ask(server, "auth/authenticate", &json!({"name": "root", "password": password}))?;
    let body = known.lines().last().unwrap_or_default();
    let body: Value = serde_json::from_str(body).map_err(io::Error::other)?;
    let token = body["token"].as_str().ok_or_else(|| io::Error::other("no token"))?;
    let header = format!("Authorization: {token}\r\n");
    post(server, "auth/user/changepw", &header, &json!({"name": "us", "password": password})).map(drop)
}
