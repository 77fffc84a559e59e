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

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Document, Entry, Error, Page, PageRequest, Path, Prefix, Store, StoreExt as _,
    Version, Watch, Write,
};
use dcm_store::conformance::Subject;
use dcm_store::encrypted::KEY_BYTES;
use dcm_store::faults::Faults;
use dcm_store::memory::Fault;
use dcm_store::{EncryptedStore, FaultyStore, Keyring, MemoryStore, SqliteStore, TracedStore};
use dcm_testenv::{Standalone, etcd_http};
use mongodb::bson::{self, doc};
use rusqlite::Connection;
use tempfile::TempDir;

/// Longer than a store in a file waits for a lock (5 seconds) before it says that it is not available.
const LOCKED: Duration = Duration::from_secs(6);

async fn sqlite(file: &FilePath) -> SqliteStore {
    SqliteStore::open(file).await.unwrap()
}

fn encrypted<S: Store + ?Sized>(inner: Arc<S>) -> EncryptedStore<S> {
    EncryptedStore::new(inner, Keyring::new("k1".parse().unwrap(), &[7; KEY_BYTES]))
}

fn held(store: impl Store) -> Arc<dyn Store> {
    Arc::new(store)
}

/// A durable store, which is opened in the same way each time, and of whose documents one is damaged below it.
async fn durable(
    open: impl AsyncFn() -> Arc<dyn Store> + Send + Sync + 'static,
    damage: impl AsyncFn(Path) + Send + Sync + 'static,
) -> Subject {
    Subject::new(open().await).opened_by(open).damaged_by(damage)
}

/// A store in memory, one of whose writes has no answer where others' backends are away. Nobody else can write to it: nothing of it
/// is damaged but what lies encrypted in it.
fn in_memory(memory: Arc<MemoryStore>, wrap: impl Fn(Arc<MemoryStore>) -> Arc<dyn Store>) -> Subject {
    Subject::new(wrap(memory.clone()))
        .opened_by(async || held(MemoryStore::new()))
        .disturbed_by(async move || memory.fail_after(1, Fault::Unanswered))
}

/// A new file in a folder of its own.
fn file() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    (folder, file)
}

/// Gives a row a version that is none, and says so to those who watch.
fn damage_row(file: &FilePath, path: &Path) {
    let damage = format!(
        "BEGIN IMMEDIATE; UPDATE documents SET version = -1 WHERE path = '{path}';
        UPDATE counter SET version = version + 1; INSERT INTO changes SELECT version, '{path}' FROM counter; COMMIT"
    );
    Connection::open(file).unwrap().execute_batch(&damage).unwrap();
}

/// Lets nobody write to a file for a while, as another process that does much at once.
async fn lock(file: &FilePath) {
    let connection = Connection::open(file).unwrap();
    connection.execute_batch("BEGIN EXCLUSIVE").unwrap();
    tokio::time::sleep(LOCKED).await;
    connection.execute_batch("ROLLBACK").unwrap();
}

/// Puts what was never sealed in the place of a document's sealed secret.
async fn damage_sealed(inner: &dyn Store, path: Path) {
    let version = inner.get(&path).await.unwrap().unwrap().version;
    let document = Document::from_stored(r#"{"key":{"$sealed":5}}"#);
    inner.write_one(Write::Update { path, version, document }).await.unwrap();
}

/// A store on a server of its own, which is killed and started again.
async fn on_server(
    server: Standalone,
    scheme: &str,
    damage: impl AsyncFn(&Standalone, Path) + Send + Sync + 'static,
) -> Subject {
    wrapped_on_server(server, scheme, |store| store, damage).await
}

/// The same with something around the store.
async fn wrapped_on_server(
    server: Standalone,
    scheme: &str,
    wrap: impl Fn(Arc<dyn Store>) -> Arc<dyn Store> + Send + Sync + 'static,
    damage: impl AsyncFn(&Standalone, Path) + Send + Sync + 'static,
) -> Subject {
    let url = format!("{scheme}://{}", server.address());
    let server = Arc::new(server);
    let damaged = server.clone();
    let open = async move || wrap(dcm_store::open(&url).await.unwrap());
    let subject = durable(open, async move |path| damage(&damaged, path).await).await;
    subject.disturbed_by(async move || {
        server.kill();
        server.start().await.unwrap();
    })
}

/// The wrapper over a server; of a document there the MAC is lost.
async fn encrypted_on_server(server: Standalone, scheme: &'static str) -> Subject {
    let damage = async move |server: &Standalone, path: Path| {
        let store = dcm_store::open(&format!("{scheme}://{}", server.address())).await.unwrap();
        damage_sealed(&*store, path).await;
    };
    wrapped_on_server(server, scheme, |store| held(encrypted(store)), damage).await
}

mod memory_with_atomic_batches {
    use super::*;

    async fn subject() -> Subject {
        in_memory(Arc::default(), |memory| memory)
    }

    dcm_store::conformance!(subject);
}

mod memory_without_atomic_batches_and_with_little_patience {
    use super::*;

    async fn subject() -> Subject {
        let memory = MemoryStore::builder().atomic_batches(false).watch_pending_max(400).build();
        in_memory(Arc::new(memory), |memory| memory)
    }

    dcm_store::conformance!(subject);
}

mod sqlite_file {
    use super::*;

    async fn subject() -> Subject {
        let (folder, file) = file();
        let (damaged, locked) = (file.clone(), file.clone());
        let open = async move || held(sqlite(&file).await);
        let subject = durable(open, async move |path| damage_row(&damaged, &path)).await;
        subject.disturbed_by(async move || lock(&locked).await).keep(folder)
    }

    dcm_store::conformance!(subject);
}

mod etcd_server {
    use super::*;

    async fn subject() -> Subject {
        let damage = async |server: &Standalone, path: Path| {
            etcd_http::put(server, &format!("dcm/{path}"), &[0xff]).unwrap();
        };
        on_server(Standalone::etcd().await.unwrap(), "etcd", damage).await
    }

    dcm_store::conformance!(subject);
}

mod mongodb_server {
    use super::*;

    async fn subject() -> Subject {
        on_server(Standalone::mongodb().await.unwrap(), "mongodb", damage).await
    }

    /// Gives a record a version that is none, and says so to those who watch.
    async fn damage(server: &Standalone, path: Path) {
        let client = mongodb::Client::with_uri_str(format!("mongodb://{}", server.address())).await.unwrap();
        let records = client.database("dcm").collection::<bson::Document>("DCM");
        let now = doc! { "changed": { "$type": "timestamp" } };
        let damage = doc! { "$set": { "version": "none" }, "$currentDate": now };
        let updated = records.update_one(doc! { "_id": path.as_str() }, damage).await.unwrap();
        assert_eq!(updated.modified_count, 1);
    }

    dcm_store::conformance!(subject);
}

mod encrypted_over_sqlite {
    use super::*;

    /// Its file is not locked: that takes seconds, and is for `sqlite_file` alone. What encryption does with a backend that is away,
    /// `encrypted_over_memory` shows.
    async fn subject() -> Subject {
        let (folder, file) = file();
        let damaged = file.clone();
        let open = async move || held(encrypted(Arc::new(sqlite(&file).await)));
        let subject =
            durable(open, async move |path| damage_sealed(&sqlite(&damaged).await, path).await).await;
        subject.keep(folder)
    }

    dcm_store::conformance!(subject);
}

mod encrypted_over_memory {
    use super::*;

    async fn subject() -> Subject {
        let memory = Arc::new(MemoryStore::new());
        let subject = in_memory(memory.clone(), |memory| held(encrypted(memory)));
        subject.damaged_by(async move |path| damage_sealed(&*memory, path).await)
    }

    dcm_store::conformance!(subject);
}

mod encrypted_over_etcd {
    use super::*;

    async fn subject() -> Subject {
        encrypted_on_server(Standalone::etcd().await.unwrap(), "etcd").await
    }

    dcm_store::conformance!(subject);
}

mod encrypted_over_mongodb {
    use super::*;

    async fn subject() -> Subject {
        encrypted_on_server(Standalone::mongodb().await.unwrap(), "mongodb").await
    }

    dcm_store::conformance!(subject);
}

mod traced_over_faulty_over_memory {
    use super::*;

    async fn subject() -> Subject {
        let none = Faults { unsent: 0, unanswered: 0, cut_off: 0, lost: 0 };
        in_memory(Arc::default(), |memory| {
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

    /// Their file is not locked: both would wait for it as the one store of `sqlite_file` does.
    async fn subject() -> Subject {
        let (folder, file) = file();
        let damaged = file.clone();
        let open = async move || {
            let stores = [sqlite(&file).await, sqlite(&file).await];
            held(InTurn { stores, calls: AtomicUsize::new(0) })
        };
        durable(open, async move |path| damage_row(&damaged, &path)).await.keep(folder)
    }

    dcm_store::conformance!(subject);
}
