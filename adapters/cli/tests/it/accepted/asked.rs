//! What is asked of a server: creates of all kinds, each with a name of its own.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use dcm_testenv::effort::patience;
use serde_json::{Value, json};

use crate::common::UNREACHABLE;

/// Logical clouds that get parts, one of each kind each: a cluster is in a cloud once.
const SHARED: usize = 20;

/// A request, and what became of it.
pub(crate) struct Create {
    /// Its name, which is in no other request.
    pub(crate) name: String,
    method: &'static str,
    path: String,
    /// Where what it makes is read.
    pub(crate) made: String,
    body: Value,
}

/// What somebody got who asked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Whole {
        status: u16,
        body: String,
    },
    /// The connection ended before.
    None,
    /// It ended within.
    Cut(String),
}

/// What later creates need.
pub(crate) fn needed() -> Vec<Create> {
    let project = Create::put("/v2/projects", "shop", json!({}));
    let provider = Create::put("/v2/cluster-providers", "edge", json!({}));
    let kubeconfig = json!({"metadata": {"name": "berlin"}, "spec": {"kubeconfig": UNREACHABLE}});
    let cluster = Create {
        path: "/v2/cluster-providers/edge/clusters?unchecked=true".to_owned(),
        ..Create::post("/v2/cluster-providers/edge/clusters", "berlin", kubeconfig)
    };
    vec![project, provider, cluster]
}

/// The logical clouds that the creates of a round have parts for.
pub(crate) fn shared_clouds(round: usize) -> Vec<Create> {
    (0..SHARED).map(|number| Create::put(CLOUDS, &shared(round, number), json!({}))).collect()
}

const CLOUDS: &str = "/v2/projects/shop/logical-clouds";

fn shared(round: usize, number: usize) -> String {
    format!("shared-{round}-{}", number % SHARED)
}

/// A create of each kind in turn.
pub(crate) fn creates(round: usize, count: usize) -> Vec<Create> {
    (0..count).map(|number| create(round, number)).collect()
}

fn create(round: usize, number: usize) -> Create {
    let name = &format!("n-{round}-{number}-x");
    let of = |collection: &str| format!("{CLOUDS}/{}/{collection}", shared(round, number / 12));
    let named =
        |spec: Value| json!({"metadata": {"name": name, "description": "made meanwhile"}, "spec": spec});
    let bare = json!({"metadata": {"name": name, "userData1": "made meanwhile"}});
    let permission = |field: &str| json!({field: format!("{name}-p"), "apiGroups": ["", "apps"], "resources": ["pods"], "verbs": ["get", "list"]});
    match number % 12 {
        0 => Create::post("/v2/projects", name, bare),
        1 => Create::post("/v2/cluster-providers", name, bare),
        2 => Create::post("/v2/controllers", name, named(json!({"host": "127.0.0.1", "port": 9031}))),
        3 | 4 => {
            let user = json!({"user-name": "seller", "user-permissions": [permission("permission-name")]});
            Create::put(CLOUDS, name, json!({"spec": {"user": user, "labels": {"round": name}}}))
        }
        5 | 6 => {
            let users = json!([{"name": "ann"}, {"name": "ci", "type": "token"}]);
            let (permissions, quotas) = ([permission("name")], [json!({"name": "q", "hard": {"pods": "5"}})]);
            let spec = json!({"users": users, "permissions": permissions, "quotas": quotas});
            let document = json!({"apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "metadata": {"name": name}, "spec": spec});
            let made = format!("{CLOUDS}/{name}/document");
            Create { path: made.clone(), made, ..Create::put(CLOUDS, name, document) }
        }
        7 => Create::post(&of("quotas"), name, named(json!({"pods": "7"}))),
        8 => Create::post(&of("users"), name, named(json!({"type": "token"}))),
        9 => Create::post(&of("kv-pairs"), name, named(json!({"kv": [{"made": name}]}))),
        10 => Create::post(
            &of("cluster-references"),
            name,
            named(json!({"cluster-provider": "edge", "cluster-name": "berlin"})),
        ),
        _ => Create {
            path: "/v2/cluster-providers/edge/clusters?unchecked=true".to_owned(),
            ..Create::post(
                "/v2/cluster-providers/edge/clusters",
                name,
                named(json!({"kubeconfig": UNREACHABLE})),
            )
        },
    }
}

impl Create {
    fn post(collection: &str, name: &str, body: Value) -> Self {
        Self { method: "POST", path: collection.to_owned(), ..Self::put(collection, name, body) }
    }

    fn put(collection: &str, name: &str, body: Value) -> Self {
        let path = format!("{collection}/{name}");
        Self { name: name.to_owned(), method: "PUT", made: path.clone(), path, body }
    }

    /// Asks, and tells as soon as all of it was sent.
    pub(crate) fn ask(&self, connection: TcpStream, sent: impl FnOnce()) -> Answer {
        let body = self.body.to_string();
        let headers = format!("Content-Type: application/json\r\nContent-Length: {}", body.len());
        ask(connection, &format!("{} {} HTTP/1.1\r\n{headers}", self.method, self.path), &body, sent)
    }
}

/// Reads what is at a path: its status and its body.
pub(crate) fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let connection = TcpStream::connect(address).unwrap();
    match ask(connection, &format!("GET {path} HTTP/1.1"), "", || {}) {
        Answer::Whole { status, body } => (status, body),
        other => panic!("{path}: {other:?}"),
    }
}

fn ask(mut connection: TcpStream, head: &str, body: &str, sent: impl FnOnce()) -> Answer {
    connection.set_read_timeout(Some(patience())).unwrap();
    let request = format!("{head}\r\nHost: localhost\r\nConnection: close\r\n\r\n{body}");
    // However it ends, it is told by what came before.
    let _ = connection.write_all(request.as_bytes());
    sent();
    let mut answer = Vec::new();
    let _ = connection.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).unwrap();
    match answer.split_once("\r\n\r\n").and_then(|(head, body)| whole(head, body)) {
        Some(whole) => whole,
        None if answer.is_empty() => Answer::None,
        None => Answer::Cut(answer),
    }
}

/// An answer with a body as long as is said.
fn whole(head: &str, body: &str) -> Option<Answer> {
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    (body.len() == length.parse::<usize>().ok()?).then(|| Answer::Whole { status, body: body.to_owned() })
}
