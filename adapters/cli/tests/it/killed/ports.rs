//! What a doomed process does at its ports: each call goes by its fate.

use std::collections::BTreeSet;

use dcm_core::port::cluster::IssuedToken;
use dcm_core::port::store::Write;
use dcm_sync::tap::{ClusterChange, Crossing, PortError, Tap};
use serde_json::Value;

use crate::killed::fate::Fate;

/// What a request for a token is called.
pub(crate) const TOKEN_REQUEST: &str = "request token";

impl Tap for Fate {
    async fn pass<T: Send, E: PortError>(
        &self,
        crossing: Crossing<'_>,
        call: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, E> {
        match things(crossing) {
            Some(things) => self.changes(&things, call).await,
            None => self.reads(call).await,
        }
    }

    fn token_issued(&self, token: &IssuedToken) {
        self.sees_token(TOKEN_REQUEST, token.token.expose());
    }
}

/// What a call changes; none when it only reads.
fn things(crossing: Crossing<'_>) -> Option<Vec<String>> {
    Some(match crossing {
        Crossing::Commit(batch) => commits(batch),
        Crossing::Change(_, change) => vec![changed(change)],
        Crossing::Get(_) | Crossing::Read => return None,
    })
}

fn changed(change: ClusterChange<'_>) -> String {
    match change {
        ClusterChange::Create(object) => format!("create {}", object.manifest.kind().kind),
        ClusterChange::Update(object) => format!("update {}", object.manifest.kind().kind),
        ClusterChange::Release(kind, _) => format!("release {}", kind.kind),
        ClusterChange::SetPart(kind, _) => format!("change a part of {}", kind.kind),
        ClusterChange::Delete(kind, _) => format!("delete {}", kind.kind),
        ClusterChange::Approve(_) => "approve".to_owned(),
        ClusterChange::IssueToken(_) => TOKEN_REQUEST.to_owned(),
    }
}

/// A batch by the kinds of documents that it writes. Results, and the lane that they end, count one by one: which ones
/// go together is a matter of time. So is when a session is renewed, and when a lane's causes are told: neither has a point.
fn commits(batch: &[Write]) -> Vec<String> {
    let written: BTreeSet<String> = batch.iter().map(written).collect();
    if written.iter().any(|one| one.contains(" results")) {
        let told = written.iter().filter(|one| !one.ends_with(" lanes working"));
        return told.map(|one| format!("commit {one}")).collect();
    }
    let commit = format!("commit {}", Vec::from_iter(written).join(", "));
    if ["commit change workers", "commit change lanes working"].contains(&&*commit) {
        return Vec::new();
    }
    vec![commit]
}

fn written(write: &Write) -> String {
    let (verb, path, document) = match write {
        Write::Create { path, document } => ("make", path, Some(document)),
        Write::Update { path, document, .. } => ("change", path, Some(document)),
        Write::Delete { path, .. } => ("drop", path, None),
    };
    let room = path.segments().next().unwrap_or_default();
    let document: Value = document.and_then(|document| document.read().ok()).unwrap_or_default();
    let detail = match room {
        "lanes" => document["state"].as_str(),
        "results" => document["issued"]["type"].as_str(),
        "shards" if document["owner"].is_null() => Some("given back"),
        _ => None,
    };
    Vec::from_iter([verb, room].into_iter().chain(detail)).join(" ")
}
