//! A server that is away for a while.

use std::process::{Command, Stdio};

use dcm_testenv::{Environment, Route};

use crate::common::installation::until;
use crate::common::server::Server;
use crate::common::{Ran, User, said};

const DOCUMENT: &str = "
apiVersion: dcm.internal/v1
kind: LogicalCloud
metadata: {name: away}
spec:
  users: [{name: ann}]
  clusters: [{name: first, provider: edge, cluster: one}]
";

#[tokio::test(flavor = "multi_thread")]
async fn work_is_waited_for_also_while_the_server_is_away() {
    let environment = Environment::shared(1).await.unwrap();
    let cluster = &environment.clusters()[0];
    let (server, log) = Server::serving(User::new(), &["--listen", "127.0.0.1:0"]);
    let (person, address) = (User::new(), server.address().to_string());
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
    // The command knows that it is applied, and waits for the work.
    let is_answer = |line: &String| line.contains("answered") && line.contains("method=PUT");
    until("the answer to the apply", async || log.try_iter().find(is_answer)).await;

    said(Command::new("kill").args(["-KILL", &server.id().to_string()]));
    let (server, _) = Server::serving(server.killed(), &["--listen", &address]);
    person.run(["cluster", "resume", "edge/one"]).done();
    let ran = Ran::of(tokio::task::spawn_blocking(|| apply.wait_with_output().unwrap()).await.unwrap());
    assert!(ran.done().contains("instantiated"));
    person.run(["terminate", "away"]).done();
    server.stop();
}
