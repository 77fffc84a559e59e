//! Whether a server is ready, while the server of its store is away and once it is back.

use dcm_testenv::Standalone;

use crate::common::User;
use crate::common::installation::until;
use crate::common::server::Server;

/// Why it is not ready then: the store refuses, or has not answered in time.
const REASONS: [&str; 2] = ["the store fails\n", "the store does not answer\n"];

async fn is_answered(server: &Server, status: &str) -> String {
    let answered = async || {
        let answer = server.ask("GET /readyz");
        answer.starts_with(status).then_some(answer)
    };
    until(&format!("/readyz to answer {status}"), answered).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_not_ready_while_its_etcd_is_away_and_lives_on() {
    let etcd = Standalone::etcd().await.unwrap();
    let person = User::with([("DCM_STORE", format!("etcd://{}", etcd.address()))]);
    let server = Server::of(person);
    is_answered(&server, "200").await;
    etcd.kill();
    let answer = is_answered(&server, "503").await;
    let (_, reason) = answer.split_once("\n\n").unwrap();
    assert!(REASONS.contains(&reason), "{answer}");
    assert!(server.ask("GET /livez").starts_with("200\n"));
    etcd.start().await.unwrap();
    let answer = is_answered(&server, "200").await;
    assert!(answer.ends_with("\n\nok"), "{answer}");
    assert!(server.ask("GET /v2/projects").starts_with("200\n"));
    server.stop();
}
