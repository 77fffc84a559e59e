//! The stores that are measured: for each kind a server, or a folder, in which any number of empty stores have room.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use dcm_core::port::store::Store;
use dcm_store::encrypted::{KeyFile, KeyringSource};
use dcm_testenv::Standalone;
use tempfile::TempDir;

/// How long the server that speaks as MongoDB may take. For each record that is asked for with its version it looks through all
/// of them, and does one thing after the other: what a hundred lanes write at once waits.
const MONGODB_TIMEOUT_SECONDS: u32 = 60;

/// A kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    Memory,
    Sqlite,
    Etcd,
    MongoDb,
}

impl Backend {
    pub(crate) const ALL: [Self; 4] = [Self::Memory, Self::Sqlite, Self::Etcd, Self::MongoDb];

    /// How the keys of its figures begin.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Sqlite => "sqlite",
            Self::Etcd => "etcd",
            Self::MongoDb => "mongodb",
        }
    }

    /// What people call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Sqlite => "SQLite",
            Self::Etcd => "etcd",
            Self::MongoDb => "MongoDB",
        }
    }
}

/// Where the stores are. The servers live as long as this.
pub(crate) struct Places {
    pub(crate) etcd: Standalone,
    mongodb: Standalone,
    folder: TempDir,
    /// What secrets are encrypted with on their way to a store that must not hold them in clear.
    pub(crate) keys: Arc<dyn KeyringSource>,
}

impl Places {
    pub(crate) async fn start() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let keys = KeyFile::open_or_create(folder.path().join("keys"))?;
        Ok(Self {
            etcd: Standalone::etcd().await.context("an etcd")?,
            mongodb: Standalone::mongodb().await.context("a server that speaks as MongoDB")?,
            folder,
            keys: Arc::new(keys),
        })
    }

    /// The URL of the store of this name. What is in memory has no name: each time it is a new one.
    pub(crate) fn url(&self, backend: Backend, name: &str) -> String {
        match backend {
            Backend::Memory => "memory:".to_owned(),
            Backend::Sqlite => {
                format!("sqlite:{}", self.folder.path().join(name).with_extension("db").display())
            }
            Backend::Etcd => format!("etcd://{}/{name}", self.etcd.address()),
            Backend::MongoDb => {
                format!("mongodb://{}/{name}?timeout={MONGODB_TIMEOUT_SECONDS}", self.mongodb.address())
            }
        }
    }

    /// What MongoDB's own driver connects to.
    pub(crate) fn mongodb(&self) -> String {
        format!("mongodb://{}", self.mongodb.address())
    }

    /// Opens it, as an installation does.
    pub(crate) async fn open(&self, backend: Backend, name: &str) -> Result<Arc<dyn Store>> {
        Ok(dcm_server::open_sealed(&self.url(backend, name)).await?)
    }
}
