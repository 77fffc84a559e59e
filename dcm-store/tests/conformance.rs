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
use dcm_store::{EncryptedStore, FaultyStore, Keyring, MemoryStore, SqliteStore, TracedStore};
use dcm_testenv::{Environment, Standalone};
use tokio::sync::OnceCell;

async fn sqlite() -> (SqliteStore, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (SqliteStore::open(folder.path().join("store.db")).await.unwrap(), folder)
}

fn encrypted(inner: impl Store) -> EncryptedStore<impl Store> {
    EncryptedStore::new(Arc::new(inner), Keyring::new("k1".parse().unwrap(), &[7; KEY_BYTES]))
}

mod memory_with_atomic_batches {
    use super::*;

    async fn subject() -> Subject {
        Subject::new(Arc::new(MemoryStore::new()))
    }

    dcm_store::conformance!(subject);
}

mod memory_without_atomic_batches {
    use super::*;

    async fn subject() -> Subject {
        Subject::new(Arc::new(MemoryStore::builder().atomic_batches(false).build()))
    }

    dcm_store::conformance!(subject);
}

mod sqlite_file {
    use super::*;

    async fn subject() -> Subject {
        let (store, folder) = sqlite().await;
        Subject::new(Arc::new(store)).keep(folder)
    }

    dcm_store::conformance!(subject);
}

mod etcd_server {
    use super::*;

    async fn subject() -> Subject {
        let environment = Environment::shared(0).await.unwrap();
        let url = environment.etcd_url().replace("http:", "etcd:");
        Subject::new(dcm_store::open(&url).await.unwrap()).keep(environment)
    }

    dcm_store::conformance!(subject);
}

mod mongodb_server {
    use super::*;

    /// One for all rules; it ends with the process.
    static SERVER: OnceCell<Standalone> = OnceCell::const_new();

    static DATABASES: AtomicUsize = AtomicUsize::new(0);

    async fn subject() -> Subject {
        let server = SERVER.get_or_try_init(Standalone::mongodb).await.unwrap();
        // It looks through the whole collection for each update.
        let database = DATABASES.fetch_add(1, Ordering::Relaxed);
        let url = format!("mongodb://{}/rule-{database}", server.address());
        Subject::new(dcm_store::open(&url).await.unwrap())
    }

    dcm_store::conformance!(subject);
}

mod encrypted_over_sqlite {
    use super::*;

    async fn subject() -> Subject {
        let (store, folder) = sqlite().await;
        Subject::new(Arc::new(encrypted(store))).keep(folder)
    }

    dcm_store::conformance!(subject);
}

mod encrypted_over_memory {
    use super::*;

    async fn subject() -> Subject {
        Subject::new(Arc::new(encrypted(MemoryStore::new())))
    }

    dcm_store::conformance!(subject);
}

mod traced_over_faulty_over_memory {
    use super::*;

    async fn subject() -> Subject {
        let none = Faults { unsent: 0, unanswered: 0, cut_off: 0, lost: 0 };
        let faulty = FaultyStore::new(Arc::new(MemoryStore::new()), 1, none);
        Subject::new(Arc::new(TracedStore::new(Arc::new(faulty))))
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
        let (one, folder) = sqlite().await;
        let other = SqliteStore::open(folder.path().join("store.db")).await.unwrap();
        Subject::new(Arc::new(InTurn { stores: [one, other], calls: AtomicUsize::new(0) })).keep(folder)
    }

    dcm_store::conformance!(subject);
}
