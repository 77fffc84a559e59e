//! What API servers don't do: a server that becomes another cluster on the same connection, that refuses the question, or that closes
//! each connection behind an answer.

use std::sync::{Arc, Mutex};

use crate::common::*;
use dcm_core::causes;
use dcm_core::port::cluster::{Cluster as _, Error, WatchEvent};
use dcm_kube::kubeconfig::Allowed;
use dcm_kube::{KubeCluster, Options};
use dcm_testenv::effort::patience;
use futures::StreamExt as _;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const QUESTION: &str = "GET /api/v1/namespaces/kube-system";

/// What a server answers to the question, on which connections, and what it was asked.
#[derive(Debug, Default)]
struct Script {
    /// Code and body.
    question: (u16, String),
    /// Each connection ends behind its first answer.
    closes: bool,
    /// The first lines of requests, with the numbers of their connections.
    asked: Vec<(usize, String)>,
}

/// A server and a client of it.
struct Scripted {
    script: Arc<Mutex<Script>>,
    cluster: KubeCluster,
}

fn uid(text: &str) -> (u16, String) {
    (200, json!({"metadata": {"uid": text}}).to_string())
}

impl Scripted {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let script = Arc::new(Mutex::new(Script { question: uid("first"), ..Script::default() }));
        let shared = script.clone();
        tokio::spawn(async move {
            for number in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, number, shared.clone()));
            }
        });
        let kubeconfig = format!(
            "current-context: c\ncontexts: [{{name: c, context: {{cluster: c}}}}]\n\
             clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\n"
        );
        let options =
            Options { allowed: Allowed { insecure: true, ..Allowed::default() }, ..Options::default() };
        Self { script, cluster: connect(&kubeconfig, &options).await }
    }

    fn answer(&self, question: (u16, String)) {
        self.script.lock().unwrap().question = question;
    }

    fn asked(&self) -> Vec<(usize, String)> {
        std::mem::take(&mut self.script.lock().unwrap().asked)
    }
}

/// An empty list that is also an object.
fn anything() -> String {
    let metadata = json!({"name": "c", "namespace": "n", "uid": "u", "resourceVersion": "1"});
    json!({"metadata": metadata, "items": []}).to_string()
}

/// Answers the requests on one connection: the question by the script, a list with nothing in it, a watch with its past lost.
async fn serve(mut stream: TcpStream, number: usize, script: Arc<Mutex<Script>>) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = stream.read(&mut bytes).await {
        let request = String::from_utf8_lossy(&bytes[..count]).into_owned();
        let line = request.lines().next().unwrap_or_default().to_owned();
        let (answer, closes) = {
            let mut script = script.lock().unwrap();
            script.asked.push((number, line.clone()));
            let gone = json!({"type": "ERROR", "object": {"kind": "Status", "status": "Failure", "code": 410, "message": "old"}});
            let answer = match &*line {
                line if line.starts_with(QUESTION) => script.question.clone(),
                line if line.contains("watch=true") => (200, format!("{gone}\n")),
                _ => (200, anything()),
            };
            (answer, script.closes)
        };
        let (code, body) = answer;
        let close = if closes { "connection: close\r\n" } else { "" };
        let answer = format!("HTTP/1.1 {code} X\r\n{close}content-length: {}\r\n\r\n{body}", body.len());
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
        if closes {
            // What comes late is read: else the connection would be reset, and the answer with it.
            let _ = stream.shutdown().await;
            while let Ok(1..) = stream.read(&mut bytes).await {}
            return;
        }
    }
}

#[tokio::test]
async fn a_list_on_the_connection_that_is_there_is_not_taken_from_another_cluster() {
    let server = Scripted::start().await;
    let call = call("moved");
    server.cluster.uid(&call).await.unwrap();
    let mut watch = server.cluster.watch(&call, &selection(&call, &config_map())).await.unwrap();
    let listed = within(patience(), watch.next()).await;
    assert!(matches!(listed, Some(Ok(WatchEvent::Listed(_)))), "{listed:?}");
    // The past is lost, so the next is another list; before it, the server is another one.
    server.answer(uid("second"));
    server.asked();
    let ended = within(patience(), watch.next()).await;
    assert!(matches!(ended, Some(Err(Error::Moved))), "{ended:?}");
    let asked = server.asked();
    assert!(
        asked.iter().all(|(_, line)| line.contains("watch=true") || line.starts_with(QUESTION)),
        "{asked:?}"
    );
    // All that begins after that, too.
    let error = server.cluster.watch(&call, &selection(&call, &config_map())).await.err().unwrap();
    assert!(matches!(error, Error::Moved), "{error:?}");
    assert_eq!(server.asked(), []);
}

#[tokio::test]
async fn a_watch_does_not_begin_on_another_cluster_over_the_connection_that_is_there() {
    let server = Scripted::start().await;
    let call = call("moved");
    server.cluster.uid(&call).await.unwrap();
    server.answer(uid("second"));
    let error = server.cluster.watch(&call, &selection(&call, &config_map())).await.err().unwrap();
    assert!(matches!(error, Error::Moved), "{error:?}");
    let asked: Vec<_> = server
        .asked()
        .into_iter()
        .map(|(connection, line)| (connection, line.starts_with(QUESTION)))
        .collect();
    assert_eq!(asked, [(0, true), (0, true)]);
}

#[tokio::test]
async fn nothing_is_sent_where_the_question_is_refused_and_a_missing_answer_is_no_missing_object() {
    let call = call("moved");
    let codes = [401, 403, 404, 409, 410, 429, 500];
    let statuses =
        codes.map(|code| (code, json!({"kind": "Status", "status": "Failure", "code": code}).to_string()));
    // What is there may be no API server at all.
    let pages = codes.map(|code| (code, "<html>".to_owned()));
    let others = [(200, "{}".to_owned()), (200, "<html>".to_owned())];
    for (code, body) in statuses.into_iter().chain(pages).chain(others) {
        let server = Scripted::start().await;
        server.script.lock().unwrap().closes = true;
        server.cluster.uid(&call).await.unwrap();
        let is_foreign = !body.contains("Status");
        server.answer((code, body));
        server.asked();
        let map = data(&call, "n", "c", &json!({}));
        let created = server.cluster.create(&call, &map).await.unwrap_err();
        let read = server.cluster.get(&call, &config_map(), map.manifest.key()).await.unwrap_err();
        for error in [created, read] {
            let is_as_expected = match code {
                _ if is_foreign => matches!(error, Error::Unreachable { .. }),
                401 => matches!(error, Error::Unauthorized { .. }),
                403 => matches!(error, Error::Forbidden { .. }),
                429 => matches!(error, Error::TooManyRequests { .. }),
                code => matches!(error, Error::Server { code: other, .. } if other == code),
            };
            assert!(is_as_expected, "{code}: {error:?}");
        }
        let asked = server.asked();
        assert!(asked.iter().all(|(_, line)| line.starts_with(QUESTION)), "{code}: {asked:?}");
        // Nothing is known against the server: as soon as it answers, work goes on.
        server.script.lock().unwrap().closes = false;
        server.answer(uid("first"));
        server.cluster.create(&call, &map).await.unwrap();
        let asked: Vec<_> = server.asked().into_iter().map(|(_, line)| line).collect();
        assert!(asked[0].starts_with(QUESTION) && asked[1].starts_with("POST"), "{asked:?}");
    }
}

#[tokio::test]
async fn a_request_is_not_sent_over_a_connection_that_the_server_was_not_asked_on() {
    let server = Scripted::start().await;
    let call = call("moved");
    server.script.lock().unwrap().closes = true;
    server.cluster.uid(&call).await.unwrap();
    server.asked();
    // Each connection ends behind the answer to the question, so the request has none to go over.
    let error = server.cluster.create(&call, &data(&call, "n", "c", &json!({}))).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    let asked = server.asked();
    assert!(asked.iter().all(|(_, line)| line.starts_with(QUESTION)), "{asked:?}");
}

#[tokio::test]
async fn an_answer_to_the_question_is_bounded() {
    let server = Scripted::start().await;
    let call = call("moved");
    server.script.lock().unwrap().closes = true;
    server.cluster.uid(&call).await.unwrap();
    server.answer((
        200,
        json!({"metadata": {"uid": "first", "filler": "x".repeat(2 * 1024 * 1024)}}).to_string(),
    ));
    let error = server.cluster.create(&call, &data(&call, "n", "c", &json!({}))).await.unwrap_err();
    assert_eq!(
        causes::told(&error),
        "the cluster can't be reached: not supported: an answer of more than 1048576 bytes"
    );
}

#[tokio::test]
async fn a_question_that_names_another_cluster_fails_all_that_wait_for_it() {
    let server = Scripted::start().await;
    let call = call("moved");
    server.script.lock().unwrap().closes = true;
    server.cluster.uid(&call).await.unwrap();
    server.answer(uid("second"));
    server.asked();
    let maps: Vec<_> = (0..8).map(|number| data(&call, "n", &format!("c{number}"), &json!({}))).collect();
    let created = futures::future::join_all(maps.iter().map(|map| server.cluster.create(&call, map))).await;
    assert!(created.iter().all(|made| matches!(made, Err(Error::Moved))), "{created:?}");
    let asked = server.asked();
    assert!(asked.iter().all(|(_, line)| line.starts_with(QUESTION)), "{asked:?}");
}
