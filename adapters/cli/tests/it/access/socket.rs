//! A server at a Unix socket, and what a server without authentication logs.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::json;

use crate::common::User;
use crate::common::installation::Worker;

/// What a server logs last before it answers.
const ANSWERS: &str = "; interrupt to stop";

/// A server of a person, and what it logs before it answers.
fn begin(person: &User, options: &[&str]) -> (Worker, Vec<String>) {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut command = person.command();
    command.args(["serve", "--store", "memory:"]).args(options).stdout(Stdio::null()).stderr(writer);
    let worker = Worker::begin(&mut command);
    drop(command);
    let lines = BufReader::new(reader).lines().map_while(Result::ok);
    (worker, lines.take_while(|line| !line.contains(ANSWERS)).collect())
}

/// What is answered at a socket.
fn ask(socket: &Path, host: &str) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    let request = format!("GET /v2/projects HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_socket_is_for_its_owner_and_goes_when_the_server_ends_in_order() {
    let person = User::new();
    let socket = person.home().join("api.sock");
    let listen = format!("unix:{}", socket.display());
    let (worker, log) = begin(&person, &["--listen", &listen]);
    assert!(log.iter().any(|line| line.contains(&format!("API at {listen}/v2"))), "{log:?}");
    assert!(log.iter().any(|line| line.contains("any process of the user that owns this socket")), "{log:?}");
    assert_eq!(socket.symlink_metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let answer = ask(&socket, "localhost");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(ask(&socket, "elsewhere.example").starts_with("HTTP/1.1 421 "));

    let refused = person.run(["serve", "--store", "memory:", "--listen", &listen]);
    assert!(refused.code != 0 && refused.err.contains("another process answers there"), "{}", refused.err);
    assert!(ask(&socket, "localhost").starts_with("HTTP/1.1 200 "));
    worker.ask_to_end();
    worker.end();
    assert!(!socket.exists());
}

#[test]
fn the_command_asks_a_server_at_its_socket() {
    let person = User::new();
    let socket = person.home().join("api.sock");
    let listen = format!("unix:{}", socket.display());
    let (worker, _) = begin(&person, &["--listen", &listen]);
    let user = User::new();
    user.run(["login", &listen, "--name", "here"]).done();
    let document = json!({
        "apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "metadata": {"name": "stall", "project": "default"},
        "spec": {"users": [{"name": "seller"}]},
    });
    let applied = user.run_with_input(&["apply", "--no-wait", "-f", "-"], &document.to_string());
    assert!(applied.err.contains("it has no cluster reference"), "{applied:?}");
    // It is the server at the socket that answers, also where the socket is named once.
    for arguments in [&["get"][..], &["get", "--server", &listen]] {
        user.run(arguments).done();
    }
    let refused = user.run(["login", "unix:api.sock"]);
    assert!(
        refused.code != 0 && refused.err.contains("must be the absolute path of a socket"),
        "{refused:?}"
    );
    worker.ask_to_end();
    worker.end();
    let away = user.run(["get"]);
    assert!(away.code != 0 && away.err.contains(&format!("no answer from {listen}")), "{away:?}");
}

#[test]
fn the_socket_of_a_server_that_was_killed_is_replaced() {
    let person = User::new();
    let socket = person.home().join("api.sock");
    let listen = format!("unix:{}", socket.display());
    let (worker, _) = begin(&person, &["--listen", &listen]);
    worker.signal(Signal::KILL);
    worker.killed();
    assert!(socket.symlink_metadata().is_ok() && UnixStream::connect(&socket).is_err());
    let (worker, _) = begin(&person, &["--listen", &listen]);
    assert!(ask(&socket, "localhost").starts_with("HTTP/1.1 200 "));
    worker.ask_to_end();
    worker.end();
}

#[test]
fn a_start_without_authentication_names_what_a_local_process_may_do() {
    let person = User::new();
    let (worker, log) = begin(&person, &["--listen", "127.0.0.1:0"]);
    let warning = log.iter().find(|line| line.contains("no authentication")).unwrap();
    for right in ["any process on this machine", "kubeconfigs of all users", "register clusters", "unix:PATH"]
    {
        assert!(warning.contains(right), "{warning}");
    }
    worker.ask_to_end();
    worker.end();
}
