//! State on servers: documents in MongoDB, app contexts in etcd.

use dcm_testenv::Standalone;

use crate::search::files_below;

pub(crate) struct Servers {
    mongodb: Standalone,
    etcd: Standalone,
}

impl Servers {
    pub(crate) async fn start() -> Self {
        Self { mongodb: Standalone::mongodb().await.unwrap(), etcd: Standalone::etcd().await.unwrap() }
    }

    /// The URLs for documents and for app contexts.
    pub(crate) fn urls(&self) -> [String; 2] {
        [format!("mongodb://{}", self.mongodb.address()), format!("etcd://{}", self.etcd.address())]
    }

    /// All that reached their disks.
    pub(crate) fn files(&self) -> Vec<(String, Vec<u8>)> {
        let files = [&self.mongodb, &self.etcd].into_iter().flat_map(|server| files_below(server.folder()));
        files.map(|(file, bytes)| (file.display().to_string(), bytes)).collect()
    }
}
