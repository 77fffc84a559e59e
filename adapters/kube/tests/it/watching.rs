//! What a watch does when the server ends it, forgets the past, or talks nonsense: on a scripted server.
#![allow(clippy::unwrap_used, reason = "a test says where it failed")]

use crate::common::*;
use dcm_core::port::cluster::{Cluster as _, Error, Object, Watch, WatchEvent};
use dcm_kube::kubeconfig::Allowed;
use dcm_kube::{KubeCluster, Options};
use dcm_testenv::effort::patience;
use futures::StreamExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

fn object(name: &str, version: u32) -> Value {
    json!({"metadata": {"name": name, "namespace": "n", "uid": name, "resourceVersion": version.to_string()}})
}

fn list(version: u32, names: &[&str], more: &str) -> String {
    let items: Vec<Value> = names.iter().map(|name| object(name, version)).collect();
    json!({"metadata": {"resourceVersion": version.to_string(), "continue": more}, "items": items})
        .to_string()
}

fn event(kind: &str, name: &str, version: u32) -> String {
    format!("{}\n", json!({"type": kind, "object": object(name, version)}))
}

fn bookmark(version: u32) -> String {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"resourceVersion": version.to_string()}});
    format!("{}\n", json!({"type": "BOOKMARK", "object": object}))
}

fn expired() -> String {
    let status = json!({"kind": "Status", "status": "Failure", "reason": "Expired", "message": "too old", "code": 410});
    format!("{}\n", json!({"type": "ERROR", "object": status}))
}

/// An answer that breaks off behind this: its head promises more.
fn torn(body: String) -> (u16, String) {
    (TORN, body)
}

/// The code of a torn answer in a script.
const TORN: u16 = 0;

/// Gives these answers to one request after the other, and tells the requests' paths. An answer ends with its
/// connection, as a watch does; the last one is given again and again.
async fn scripted(answers: Vec<(u16, String)>) -> (KubeCluster, UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let (sender, receiver) = unbounded_channel();
    tokio::spawn(async move {
        for at in 0.. {
            let (code, body) = &answers[at.min(answers.len() - 1)];
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut bytes = vec![0; 4096];
            let count = stream.read(&mut bytes).await.unwrap();
            let request = String::from_utf8_lossy(&bytes[..count]).into_owned();
            let _ = sender.send(request.split(' ').nth(1).unwrap_or_default().to_owned());
            let head = match *code {
                TORN => format!("200 X\r\ncontent-length: {}", body.len() + 1),
                code => format!("{code} X"),
            };
            let answer = format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n{body}");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    let kubeconfig = format!(
        "current-context: c\ncontexts: [{{name: c, context: {{cluster: c}}}}]\n\
         clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\n"
    );
    let options = Options { allowed: Allowed { insecure: true, ..Allowed::default() }, ..Options::default() };
    (connect(&kubeconfig, &options).await, receiver)
}

async fn watch(cluster: &KubeCluster) -> Watch {
    let call = call("watching");
    cluster.watch(&call, &selection(&call, &config_map())).await.unwrap()
}

/// The next events, in short: `~a,b` for a page of a list, `=a,b` for its last one, `^` where it begins anew, `+a` and `-a` for
/// changes, `!` with an error, `.` for the end.
async fn told(watch: &mut Watch, count: usize) -> String {
    let mut told = Vec::new();
    for _ in 0..count {
        told.push(match within(patience(), watch.next()).await {
            Some(Ok(WatchEvent::Listing(objects))) => format!("~{}", names(&objects)),
            Some(Ok(WatchEvent::Relisting)) => "^".to_owned(),
            Some(Ok(WatchEvent::Listed(objects))) => format!("={}", names(&objects)),
            Some(Ok(WatchEvent::Applied(object))) => format!("+{}", object.key.name),
            Some(Ok(WatchEvent::Deleted(object))) => format!("-{}", object.key.name),
            Some(Err(error)) => format!("!{error}"),
            None => ".".to_owned(),
        });
    }
    told.join(" ")
}

fn names(objects: &[Object]) -> String {
    objects.iter().map(|object| object.key.name.to_string()).collect::<Vec<_>>().join(",")
}

/// The resource versions that watches began at, and `list` for lists.
fn begun(paths: &mut UnboundedReceiver<String>) -> Vec<String> {
    let mut begun = Vec::new();
    while let Ok(path) = paths.try_recv() {
        assert!(path.contains("&labelSelector=dcm.internal%2Fowner%3Dwatching"), "{path}");
        begun.push(path.split_once("&resourceVersion=").map_or("list", |(_, version)| version).to_owned());
    }
    begun
}

#[tokio::test]
async fn a_watch_that_ends_goes_on_where_it_was() {
    let (cluster, mut paths) = scripted(vec![
        (200, list(5, &["a"], "")),
        (200, event("ADDED", "b", 6) + &event("MODIFIED", "a", 7)),
        (200, event("DELETED", "b", 8) + &bookmark(20)),
        (200, event("MODIFIED", "a", 21)),
    ])
    .await;
    let mut watch = watch(&cluster).await;
    assert_eq!(told(&mut watch, 5).await, "=a +b +a -b +a");
    assert_eq!(begun(&mut paths), ["list", "5", "7", "20"]);
}

#[tokio::test]
async fn a_watch_that_breaks_goes_on_where_it_was() {
    let (cluster, mut paths) = scripted(vec![
        (200, list(5, &["a"], "")),
        torn(event("ADDED", "b", 6)),
        (503, "restarting".to_owned()),
        torn(event("MODIFIED", "a", 7) + &bookmark(20)),
        (200, event("DELETED", "b", 21)),
    ])
    .await;
    let mut watch = watch(&cluster).await;
    assert_eq!(told(&mut watch, 4).await, "=a +b +a -b");
    assert_eq!(begun(&mut paths), ["list", "5", "6", "6", "20"]);
}

#[tokio::test]
async fn what_can_not_be_read_is_listed_again_until_it_can() {
    let nameless = format!("{}\n", json!({"type": "ADDED", "object": {"metadata": {}}}));
    for nonsense in [nameless, "nonsense\n".to_owned()] {
        let (cluster, mut paths) = scripted(vec![
            (200, list(5, &["a"], "")),
            (200, event("ADDED", "b", 6) + &nonsense),
            (503, "restarting".to_owned()),
            (200, list(9, &["c"], "")),
            (200, event("DELETED", "c", 13)),
        ])
        .await;
        let mut watch = watch(&cluster).await;
        assert_eq!(told(&mut watch, 4).await, "=a +b =c -c");
        assert_eq!(begun(&mut paths), ["list", "5", "list", "list", "9"]);
    }
}

#[tokio::test]
async fn a_list_is_told_page_by_page() {
    let (cluster, mut paths) =
        scripted(vec![(200, list(5, &["a"], "more/=")), (200, list(5, &["b"], "")), (200, bookmark(6))])
            .await;
    assert_eq!(told(&mut watch(&cluster).await, 2).await, "~a =b");
    paths.recv().await.unwrap();
    assert!(paths.recv().await.unwrap().ends_with("&continue=more%2F%3D"));
}

#[tokio::test]
async fn a_list_whose_next_page_is_not_kept_begins_anew() {
    let gone = json!({"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410}).to_string();
    let (cluster, mut paths) = scripted(vec![
        (200, list(5, &["a"], "more")),
        (410, gone),
        (200, list(9, &["b"], "more")),
        (200, list(9, &["c"], "")),
        (200, event("DELETED", "c", 13)),
    ])
    .await;
    assert_eq!(told(&mut watch(&cluster).await, 5).await, "~a ^ ~b =c -c");
    assert_eq!(begun(&mut paths), ["list", "list", "list", "list", "9"]);
}

#[tokio::test]
async fn a_past_that_is_not_kept_is_listed_again() {
    let gone = json!({"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410}).to_string();
    let (cluster, mut paths) = scripted(vec![
        (200, list(5, &["a"], "")),
        (200, event("ADDED", "b", 6) + &expired()),
        (200, list(9, &["c"], "")),
        (410, gone),
        (200, list(12, &["d"], "")),
        (200, event("DELETED", "d", 13)),
    ])
    .await;
    let mut watch = watch(&cluster).await;
    assert_eq!(told(&mut watch, 5).await, "=a +b =c =d -d");
    assert_eq!(begun(&mut paths), ["list", "5", "list", "9", "list", "12"]);
}

#[tokio::test]
async fn a_server_that_never_tells_anything_is_told_as_such() {
    let (cluster, mut paths) =
        scripted(vec![(200, list(5, &[], "")), (200, String::new()), (503, "busy".to_owned())]).await;
    let mut watch = watch(&cluster).await;
    assert_eq!(
        told(&mut watch, 3).await,
        "= !the cluster failed with 503: the answer is no status of Kubernetes ."
    );
    assert_eq!(begun(&mut paths), ["list", "5", "5", "5", "5"]);
}

#[tokio::test]
async fn what_we_may_not_watch_is_told_at_once() {
    let (cluster, mut paths) = scripted(vec![(200, list(5, &[], "")), (403, "no".to_owned())]).await;
    let mut watch = watch(&cluster).await;
    assert_eq!(told(&mut watch, 3).await, "= !not allowed: the answer is no status of Kubernetes .");
    assert_eq!(begun(&mut paths), ["list", "5"]);
    let (cluster, _paths) = scripted(vec![(403, "no".to_owned())]).await;
    let call = call("watching");
    let refused = cluster.watch(&call, &selection(&call, &config_map())).await.err().unwrap();
    assert!(matches!(refused, Error::Forbidden { .. }), "{refused}");
}
