//! A server that is away for a while.

use std::process::Stdio;

use dcm_testenv::{Environment, Route};
use rustix::process::{Pid, Signal, kill_process};
use tokio::net::TcpSocket;

use crate::common::installation::until;
use crate::common::server::Server;
use crate::common::{Ran, User};

const DOCUMENT: &str = "
apiVersion: dcm.internal/v1
kind: LogicalCloud
metadata: {name: away}
spec:
  users: [{name: ann}]
  clusters: [{name: first, provider: edge, cluster: one}]
";

/// A socket that never listens on a port, and lets others listen there that share addresses, as servers do. While it is held, the kernel
/// gives the port to no other socket that asks for any port.
fn held_port() -> TcpSocket {
    let held = TcpSocket::new_v4().unwrap();
    held.set_reuseaddr(true).unwrap();
    held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    held
}

#[tokio::test(flavor = "multi_thread")]
async fn work_is_waited_for_also_while_the_server_is_away() {
    let environment = Environment::group("remote", 1).await.unwrap();
    let cluster = &environment.clusters()[0];
    let held = held_port();
    let address = held.local_addr().unwrap().to_string();
    let (server, log) = Server::serving(User::new(), &["--listen", &address]);
    let person = User::new();
    let identity = cluster.issue("remote-away", &["system:masters"]).unwrap();
    person.write("kubeconfig", &cluster.kubeconfig(&identity, Route::Direct));
    person.write("away.yaml", DOCUMENT);
    person.run(["login", &format!("http://{address}")]).done();
    person.run(["cluster", "add", "edge/one", "--kubeconfig", "kubeconfig"]).done();
    // Nothing is done before the server was away.
    person.run(["cluster", "stop", "edge/one"]).done();
    let mut apply = person.command();
    apply
        .args(["apply", "-f", "away.yaml"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let apply = apply.spawn().unwrap();
    // The command knows that it is applied when it asks how the work goes on. An answer that is only in the log may not have reached it.
    let is_followed =
        |line: &String| line.contains("answered") && line.contains("logical-clouds/away/events");
    until("events to be followed", async || log.try_iter().find(is_followed)).await;

    kill_process(Pid::from_raw(server.id().try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
    let (server, _) = Server::serving(server.killed(), &["--listen", &address]);
    person.run(["cluster", "resume", "edge/one"]).done();
    let ran = Ran::of(tokio::task::spawn_blocking(|| apply.wait_with_output().unwrap()).await.unwrap());
    assert!(ran.done().contains("instantiated"));
    person.run(["terminate", "away"]).done();
    server.stop();
}
