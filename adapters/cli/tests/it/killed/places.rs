//! Where lives keep their state, each in a place of its own.

use std::path::Path;
use std::sync::Arc;

use dcm_testenv::Standalone;
use serde::{Deserialize, Serialize};

/// Servers that keep what lives know, or none.
#[derive(Clone)]
pub(crate) enum Places {
    Files,
    Etcd(Arc<Standalone>),
    MongoDb(Arc<Standalone>),
    /// Documents in MongoDB, app contexts in etcd.
    Both {
        mongodb: Arc<Standalone>,
        etcd: Arc<Standalone>,
    },
}

/// Where one life keeps its state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) store: String,
    pub(crate) contexts_store: Option<String>,
}

impl Places {
    pub(crate) async fn etcd() -> Self {
        Self::Etcd(Arc::new(Standalone::etcd().await.unwrap()))
    }

    pub(crate) async fn mongodb() -> Self {
        Self::MongoDb(Arc::new(Standalone::mongodb().await.unwrap()))
    }

    pub(crate) async fn both() -> Self {
        let mongodb = Arc::new(Standalone::mongodb().await.unwrap());
        Self::Both { mongodb, etcd: Arc::new(Standalone::etcd().await.unwrap()) }
    }

    /// The place of a life.
    pub(crate) fn of(&self, life: &str, home: &Path) -> Kept {
        let at =
            |scheme: &str, server: &Standalone| format!("{scheme}://{}/{life}?timeout=60", server.address());
        let (store, contexts_store) = match self {
            Self::Files => (format!("sqlite:{}", home.join("store.db").display()), None),
            Self::Etcd(server) => (at("etcd", server), None),
            Self::MongoDb(server) => (at("mongodb", server), None),
            Self::Both { mongodb, etcd } => (at("mongodb", mongodb), Some(at("etcd", etcd))),
        };
        Kept { store, contexts_store }
    }
}
