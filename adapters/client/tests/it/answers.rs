//! What becomes of answers, of a server that says in literal bytes whatever a test wants.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::thread::JoinHandle;
use std::time::Duration;

use dcm_client::{Client, ClusterCheck, Credential, Error, Event, Options, TRIES_MAX};
use dcm_core::port::cluster::ClusterUid;
use dcm_core::port::synchronizer::Disposal;
use dcm_core::secret::Secret;
use futures::{FutureExt as _, StreamExt as _, TryFutureExt as _};

const STATUS: &str = r#"{"project":"shop","name":"stall","uid":"0123456789abcdef","state":"created","edit":1,"isEdited":false,"isInterrupted":false,"created":{"by":"ann","at":"2026-01-01T00:00:00Z"},"changed":{"by":"ann","at":"2026-01-01T00:00:00Z"},"warnings":[],"clusters":{},"credentials":{}}"#;

/// A server that gives these answers, one a connection, and then the heads of all requests.
struct Server {
    client: Client,
    heads: JoinHandle<Vec<String>>,
}

impl Server {
    fn answering(answers: impl IntoIterator<Item = String>) -> Self {
        let answers: Vec<String> = answers.into_iter().collect();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heads = std::thread::spawn(move || {
            let answer = |answer: String| {
                let (mut stream, _) = listener.accept().unwrap();
                let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
                stream.write_all(answer.as_bytes()).unwrap();
                head.join("\n")
            };
            answers.into_iter().map(answer).collect()
        });
        let credential = Credential::Token(Secret::new("not-to-be-shown"));
        let options = Options { credential, ..Options::new(&format!("http://{address}")).unwrap() };
        Self { client: Client::open(&options).unwrap(), heads }
    }

    fn heads(self) -> Vec<String> {
        self.heads.join().unwrap()
    }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())
}

fn json(body: &str) -> String {
    answer("200 OK", "content-type: application/json\r\n", body)
}

#[tokio::test]
async fn what_is_put_off_is_asked_again_and_not_for_ever() {
    let put_off = || answer("429 Too Many Requests", "retry-after: 0\r\n", "");
    let server = Server::answering([put_off(), put_off(), json(STATUS)]);
    let status =
        server.client.logical_clouds().status(&"shop".parse().unwrap(), &"stall".parse().unwrap()).await;
    assert_eq!(status.unwrap().edit, 1);
    let heads = server.heads();
    assert!(
        heads.len() == 3 && heads.iter().all(|head| head.contains("authorization: Bearer not-to-be-shown"))
    );

    let server = Server::answering((0..TRIES_MAX).map(|_| put_off()));
    let refused = server.client.check().await.unwrap_err();
    assert!(refused.is_retryable() && refused.problem().unwrap().status == 429, "{refused:?}");
    assert_eq!(server.heads().len(), usize::try_from(TRIES_MAX).unwrap());
}

#[tokio::test]
async fn a_list_is_read_to_its_end_and_goes_on_nowhere_else() {
    let page = |name: &str, next: &str| {
        json(&format!(r#"{{"items":[{{"metadata":{{"name":"{name}"}}}}],"next":{next}}}"#))
    };
    let server = Server::answering([page("a", r#""/v2/projects?after=a""#), page("b", "null")]);
    let listed = server.client.projects().list().await.unwrap();
    assert_eq!(listed.items.iter().map(|one| &*one.metadata.name).collect::<Vec<_>>(), ["a", "b"]);
    assert!(server.heads()[1].starts_with("GET /v2/projects?after=a HTTP/1.1\n"));
    for next in
        [r#""/v2/projects?limit=500""#, r#""@elsewhere.example.com/v2/projects?after=a""#, r#""/v2/other""#]
    {
        let server = Server::answering([page("a", next)]);
        let astray = server.client.projects().list().await.unwrap_err();
        assert!(matches!(astray, Error::Astray { .. }), "{astray:?}");
    }
}

#[tokio::test]
async fn a_cloud_is_followed_by_its_status_and_what_changes_of_it() {
    let events = format!(
        ": a sign of life\n\nevent: status\ndata: {STATUS}\n\nevent: change\ndata: {{\"edit\":2}}\n\nevent: later\ndata: x\n\n\
         event: deleted\ndata: {{}}\n\nevent: change\ndata: {{\"edit\":3}}\n\n"
    );
    let server = Server::answering([answer("200 OK", "content-type: text/event-stream\r\n", &events)]);
    let followed =
        server.client.logical_clouds().follow(&"shop".parse().unwrap(), &"stall".parse().unwrap()).await;
    let told: Vec<_> = followed.unwrap().map(Result::unwrap).collect().await;
    let edits = told.iter().map(|event| match event {
        Event::Status(status) => Some(status.edit),
        Event::Deleted => None,
        other => panic!("no such event was sent: {other:?}"),
    });
    assert_eq!(edits.collect::<Vec<_>>(), [Some(1), Some(2), None]);
    server.heads();
}

/// Far longer than it takes to end what has no time at all.
const MOMENT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn what_asks_clusters_is_given_their_time() {
    // Whoever connects to it has no answer.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let options = Options::new(&format!("http://{}", silent.local_addr().unwrap())).unwrap();
    let client = Client::open(&Options { answer_timeout: Duration::ZERO, ..options }).unwrap();
    let (clouds, clusters) = (client.logical_clouds(), client.clusters());
    let (project, cloud) = ("shop".parse().unwrap(), "stall".parse().unwrap());
    let (user, cluster) = ("ann".parse().unwrap(), "edge/one".parse().unwrap());
    let (context, uid) = ("dcm-absent".parse().unwrap(), ClusterUid("0123".into()));
    let check = ClusterCheck::default();
    for (name, asked) in [
        ("plan", clouds.plan(&project, &cloud, "{}", true).map_ok(drop).boxed()),
        ("declare", clouds.declare(&project, &cloud, "{}", None).map_ok(drop).boxed()),
        ("revocation", clouds.revocation(&project, &cloud, &user).map_ok(drop).boxed()),
        ("check", clusters.check(&cluster, &check).map_ok(drop).boxed()),
        ("accept", clusters.accept(&cluster, &uid).boxed()),
        ("orphans", clusters.orphans(&cluster).map_ok(drop).boxed()),
        ("clear", clusters.clear_orphans(&cluster, &context, Disposal::Delete).map_ok(drop).boxed()),
    ] {
        let ended = tokio::time::timeout(MOMENT, asked).await;
        assert!(ended.is_err(), "{name} is not waited for: {ended:?}");
    }
    let late = clouds.status(&project, &cloud).await.unwrap_err();
    assert!(matches!(late, Error::TimedOut { .. }), "{late:?}");
}

#[tokio::test]
async fn what_is_no_answer_of_such_a_server_is_told_as_that() {
    let server = Server::answering([answer("200 OK", "content-type: text/html\r\n", "<html>sign in</html>")]);
    let page = server.client.check().await.unwrap_err();
    assert!(matches!(page, Error::Unreadable { .. }) && !page.is_retryable(), "{page:?}");
    server.heads();
    let server = Server::answering([String::new()]);
    let silent = server.client.check().await.unwrap_err();
    assert!(matches!(silent, Error::Silent { .. }) && silent.is_retryable(), "{silent:?}");
    assert!(!format!("{:?}", server.client).contains("not-to-be-shown"));
    server.heads();
}
