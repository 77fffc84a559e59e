//! What is asked, in literal bytes.

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::load::Connection;
use super::servers::Server;

/// A logical cloud with a user, permissions and a quota.
const CLOUD: &str = "/v2/projects/bench/logical-clouds/stall";

/// Numbers that no request has had in this process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// A kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Of the handler that does nothing.
    EmptyGet,
    /// Of the same, with a body like that of a project.
    EmptyPost,
    GetProject,
    GetCloud,
    PostProject,
    PutCloud,
    /// One in ten writes, the others read, of one cloud: nothing becomes more by it but the audit log.
    Mixed,
}

impl Kind {
    /// The next request of this kind.
    pub(crate) fn next(self) -> String {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        match self {
            Self::EmptyGet => asked("GET", "/", None),
            Self::EmptyPost => asked("POST", "/", Some(&project(number))),
            Self::GetProject => asked("GET", "/v2/projects/bench", None),
            Self::PostProject => asked("POST", "/v2/projects", Some(&project(number))),
            Self::Mixed if number.is_multiple_of(10) => Self::PutCloud.next(),
            Self::GetCloud | Self::Mixed => asked("GET", CLOUD, None),
            Self::PutCloud => {
                // Each in its own cloud, as people do: one cloud is edited by one after the other.
                let path = format!("{CLOUD}-{}", number % 64);
                asked("PUT", &path, Some(&json!({"metadata": {"description": format!("edit {number}")}})))
            }
        }
    }
}

fn project(number: u64) -> Value {
    json!({"metadata": {"name": format!("project-{number}"), "description": "made by a bench"}})
}

fn asked(method: &str, path: &str, body: Option<&Value>) -> String {
    let head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n");
    match body.map(Value::to_string) {
        None => format!("{head}\r\n"),
        Some(body) => {
            format!("{head}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len())
        }
    }
}

/// Makes what is read and changed later.
pub(crate) async fn furnish(server: &Server) -> Result<()> {
    let permission = |name: &str| json!({"permission-name": name, "apiGroups": ["", "apps"], "resources": ["pods", "services"], "verbs": ["get", "list"]});
    let permissions = ["look", "deploy", "configure"].map(permission);
    let cloud = json!({"spec": {"user": {"user-name": "ann", "user-permissions": permissions}}});
    let quota = json!({"metadata": {"name": "size"}, "spec": {"pods": "50", "requests.cpu": "4"}});
    let mut requests = vec![
        asked("PUT", "/v2/projects/bench", Some(&json!({}))),
        asked("PUT", CLOUD, Some(&cloud)),
        asked("PUT", &format!("{CLOUD}/quotas/size"), Some(&quota)),
    ];
    requests.extend((0..64).map(|number| asked("PUT", &format!("{CLOUD}-{number}"), Some(&cloud))));
    let mut connection = Connection::open(server.address).await?;
    for request in requests {
        let status = connection.ask(request.as_bytes()).await?;
        ensure!((200..300).contains(&status), "{status}: {request}");
    }
    Ok(())
}
