//! State on servers: documents on one, app contexts on the other.

use dcm_testenv::Standalone;

use crate::secrets::search::files_below;

pub(crate) struct Servers {
    documents: Kept,
    contexts: Kept,
}

/// A server, and the store on it.
struct Kept {
    server: Standalone,
    url: String,
}

impl Kept {
    async fn on_mongodb() -> Self {
        let server = Standalone::mongodb().await.unwrap();
        Self { url: format!("mongodb://{}?timeout=60", server.address()), server }
    }

    async fn on_etcd() -> Self {
        let server = Standalone::etcd().await.unwrap();
        Self { url: format!("etcd://{}?timeout=60", server.address()), server }
    }
}

impl Servers {
    /// Documents in MongoDB, app contexts in etcd.
    pub(crate) async fn mongodb_and_etcd() -> Self {
        Self { documents: Kept::on_mongodb().await, contexts: Kept::on_etcd().await }
    }

    /// Documents in etcd, app contexts in MongoDB.
    pub(crate) async fn etcd_and_mongodb() -> Self {
        Self { documents: Kept::on_etcd().await, contexts: Kept::on_mongodb().await }
    }

    /// The URLs for documents and for app contexts.
    pub(crate) fn urls(&self) -> [String; 2] {
        [self.documents.url.clone(), self.contexts.url.clone()]
    }

    /// All that reached their disks.
    pub(crate) fn files(&self) -> Vec<(String, Vec<u8>)> {
        let folders = [&self.documents, &self.contexts].map(|kept| kept.server.folder());
        let files = folders.into_iter().flat_map(files_below);
        files.map(|(file, bytes)| (file.display().to_string(), bytes)).collect()
    }
}
