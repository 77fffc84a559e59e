//! Every backend of this crate holds the store's contract.
#![allow(clippy::unwrap_used)]
#![cfg(all(
    feature = "memory",
    feature = "sqlite",
    feature = "etcd",
    feature = "mongodb",
    feature = "encrypted",
    feature = "faults",
    feature = "trace",
    feature = "conformance"
))]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Entry, Error, Page, PageRequest, Path, Prefix, Store, Version, Watch, Write,
};
use dcm_store::conformance::Subject;
use dcm_store::encrypted::KEY_BYTES;
use dcm_store::faults::Faults;
use dcm_store::memory::Fault;
use dcm_store::{EncryptedStore, FaultyStore, Keyring, MemoryStore, SqliteStore, TracedStore};
use dcm_testenv::Standalone;
use tempfile::TempDir;

async fn sqlite(folder: &TempDir) -> SqliteStore {
    SqliteStore::open(folder.path().join("store.db")).await.unwrap()
}

fn encrypted(inner: impl Store) -> EncryptedStore<impl Store> {
    EncryptedStore::new(Arc::new(inner), Keyring::new("k1".parse().unwrap(), &[7; KEY_BYTES]))
}

fn held(store: impl Store) -> Arc<dyn Store> {
    Arc::new(store)
}

/// A store that is opened in the same way each time.
async fn opened_by(open: impl AsyncFn() -> Arc<dyn Store> + Send + Sync + 'static) -> Subject {
    Subject::new(open().await).opened_by(open)
}

/// A store in memory, one of whose writes has no answer where others' backends are away.
fn in_memory(memory: MemoryStore, wrap: impl Fn(Arc<MemoryStore>) -> Arc<dyn Store>) -> Subject {
    let memory = Arc::new(memory);
    Subject::new(wrap(memory.clone()))
        .opened_by(async || held(MemoryStore::new()))
        .disturbed_by(async move || memory.fail_after(1, Fault::Unanswered))
}

/// A store on a server of its own, which is killed and started again.
async fn on_server(server: Standalone, scheme: &str) -> Subject {
    let url = format!("{scheme}://{}", server.address());
    let server = Arc::new(server);
    let subject = opened_by(async move || dcm_store::open(&url).await.unwrap()).await;
    subject.disturbed_by(async move || {
        server.kill();
        server.start().await.unwrap();
    })
}

mod memory_with_atomic_batches {
    use super::*;

    async fn subject() -> Subject {
        in_memory(MemoryStore::new(), |memory| memory)
    }

    dcm_store::conformance!(subject);
}

mod memory_without_atomic_batches_and_with_little_patience {
    use super::*;

    async fn subject() -> Subject {
        let memory = MemoryStore::builder().atomic_batches(false).watch_pending_max(400).build();
        in_memory(memory, |memory| memory)
    }

    dcm_store::conformance!(subject);
}

mod sqlite_file {
    use super::*;

    async fn subject() -> Subject {
        let folder = tempfile::tempdir().unwrap();
        opened_by(async move || held(sqlite(&folder).await)).await
    }

    dcm_store::conformance!(subject);
}

mod etcd_server {
    use super::*;

    async fn subject() -> Subject {
        on_server(Standalone::etcd().await.unwrap(), "etcd").await
    }

    dcm_store::conformance!(subject);
}

mod mongodb_server {
    use super::*;

    async fn subject() -> Subject {
        on_server(Standalone::mongodb().await.unwrap(), "mongodb").await
    }

    dcm_store::conformance!(subject);
}

mod encrypted_over_sqlite {
    use super::*;

    async fn subject() -> Subject {
        let folder = tempfile::tempdir().unwrap();
        opened_by(async move || held(encrypted(sqlite(&folder).await))).await
    }

    dcm_store::conformance!(subject);
}

mod encrypted_over_memory {
    use super::*;

    async fn subject() -> Subject {
        opened_by(async || held(encrypted(MemoryStore::new()))).await
    }

    dcm_store::conformance!(subject);
}

mod traced_over_faulty_over_memory {
    use super::*;

    async fn subject() -> Subject {
        let none = Faults { unsent: 0, unanswered: 0, cut_off: 0, lost: 0 };
        in_memory(MemoryStore::new(), |memory| {
            held(TracedStore::new(Arc::new(FaultyStore::new(memory, 1, none))))
        })
    }

    dcm_store::conformance!(subject);
}

mod two_sqlite_stores_on_one_file {
    use super::*;

    /// Sends each call to another of two stores: who writes is seldom who reads or watches.
    struct InTurn {
        stores: [SqliteStore; 2],
        calls: AtomicUsize,
    }

    impl InTurn {
        fn next(&self) -> &SqliteStore {
            &self.stores[self.calls.fetch_add(1, Ordering::Relaxed) % 2]
        }
    }

    #[async_trait]
    impl Store for InTurn {
        fn capabilities(&self) -> Capabilities {
            self.stores[0].capabilities()
        }

        async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
            self.next().get(path).await
        }

        async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
            self.next().list(prefix, page).await
        }

        async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
            self.next().write(batch).await
        }

        async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
            self.next().watch(prefix).await
        }
    }

    async fn subject() -> Subject {
        let folder = tempfile::tempdir().unwrap();
        opened_by(async move || {
            let stores = [sqlite(&folder).await, sqlite(&folder).await];
            held(InTurn { stores, calls: AtomicUsize::new(0) })
        })
        .await
    }

    dcm_store::conformance!(subject);
}
