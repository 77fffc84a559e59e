//! The ports of a doomed process: each call goes by its fate, and to what is behind.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use dcm_core::app_context::TokenRequest;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::{
    self, Access, Call, Cluster, ClusterUid, Clusters, Contents, Deletion, Error, IssuedToken, Object,
    Precondition, Selection, ServerInfo, Stamped,
};
use dcm_core::port::store::{
    self, BatchError, Capabilities, Entry, Page, PageRequest, Path, Prefix, Store, Version, Write,
};
use serde_json::Value;

use crate::fate::Fate;

/// What a request for a token is called.
pub(crate) const TOKEN_REQUEST: &str = "request token";

/// A store in a doomed process.
pub(crate) struct DoomedStore {
    pub(crate) fate: Arc<Fate>,
    pub(crate) store: Arc<dyn Store>,
}

#[async_trait]
impl Store for DoomedStore {
    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, store::Error> {
        self.fate.reads(self.store.get(path)).await
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, store::Error> {
        self.fate.reads(self.store.list(prefix, page)).await
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        self.fate.changes(&commits(batch), self.store.write(batch)).await
    }

    async fn watch(&self, prefix: &Prefix) -> Result<store::Watch, store::Error> {
        self.fate.reads(self.store.watch(prefix)).await
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

/// Clusters of a doomed process.
pub(crate) struct DoomedClusters {
    pub(crate) fate: Arc<Fate>,
    pub(crate) clusters: Arc<dyn Clusters>,
}

#[async_trait]
impl Clusters for DoomedClusters {
    async fn connect(&self, cluster: &ClusterId) -> Result<Arc<dyn Cluster>, Error> {
        let client = self.fate.reads(self.clusters.connect(cluster)).await?;
        Ok(Arc::new(DoomedCluster { fate: self.fate.clone(), client }))
    }
}

struct DoomedCluster {
    fate: Arc<Fate>,
    client: Arc<dyn Cluster>,
}

#[async_trait]
impl Cluster for DoomedCluster {
    async fn uid(&self, call: &Call) -> Result<ClusterUid, Error> {
        self.fate.reads(self.client.uid(call)).await
    }

    async fn server_info(&self, call: &Call) -> Result<ServerInfo, Error> {
        self.fate.reads(self.client.server_info(call)).await
    }

    async fn get(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
    ) -> Result<Option<Object>, Error> {
        self.fate.reads(self.client.get(call, kind, key)).await
    }

    async fn create(&self, call: &Call, object: &Stamped) -> Result<Object, Error> {
        let what = format!("create {}", object.manifest.kind().kind);
        self.fate.changes(&[what], self.client.create(call, object)).await
    }

    async fn update(
        &self,
        call: &Call,
        object: &Stamped,
        observed: &Precondition,
        force: bool,
    ) -> Result<Object, Error> {
        let what = format!("update {}", object.manifest.kind().kind);
        self.fate.changes(&[what], self.client.update(call, object, observed, force)).await
    }

    async fn release(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        observed: &Precondition,
    ) -> Result<Object, Error> {
        let what = format!("release {}", kind.kind);
        self.fate.changes(&[what], self.client.release(call, kind, key, observed)).await
    }

    async fn delete(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        observed: &Precondition,
    ) -> Result<Deletion, Error> {
        let what = format!("delete {}", kind.kind);
        self.fate.changes(&[what], self.client.delete(call, kind, key, observed)).await
    }

    async fn watch(&self, call: &Call, selection: &Selection) -> Result<cluster::Watch, Error> {
        self.fate.reads(self.client.watch(call, selection)).await
    }

    async fn approve(&self, call: &Call, key: &ObjectKey, observed: &Precondition) -> Result<Object, Error> {
        self.fate.changes(&["approve".to_owned()], self.client.approve(call, key, observed)).await
    }

    async fn issue_token(&self, call: &Call, request: &TokenRequest) -> Result<IssuedToken, Error> {
        let issuing = async {
            let issued = self.client.issue_token(call, request).await?;
            self.fate.sees_token(TOKEN_REQUEST, issued.token.expose());
            Ok(issued)
        };
        self.fate.changes(&[TOKEN_REQUEST.to_owned()], issuing).await
    }

    async fn contents(&self, call: &Call, namespace: &str) -> Result<Contents, Error> {
        self.fate.reads(self.client.contents(call, namespace)).await
    }

    async fn review(&self, call: &Call, accesses: &[Access]) -> Result<Vec<bool>, Error> {
        self.fate.reads(self.client.review(call, accesses)).await
    }
}
