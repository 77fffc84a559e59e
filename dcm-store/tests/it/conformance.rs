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
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
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

/// How long an answer of a server may take, in seconds: much longer than one needs on a busy machine.
const TIMEOUT: u64 = 60;

/// What servers there are.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Etcd,
    Mongodb,
}

/// Servers that no rule has at present. They end with this process.
static FREE_ETCDS: Mutex<Vec<Standalone>> = Mutex::new(Vec::new());
static FREE_MONGODBS: Mutex<Vec<Standalone>> = Mutex::new(Vec::new());

impl Kind {
    fn scheme(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::Mongodb => "mongodb",
        }
    }

    fn free(self) -> MutexGuard<'static, Vec<Standalone>> {
        let free = match self {
            Self::Etcd => &FREE_ETCDS,
            Self::Mongodb => &FREE_MONGODBS,
        };
        free.lock().unwrap()
    }

    async fn start(self) -> Standalone {
        let started = match self {
            Self::Etcd => Standalone::etcd().await,
            Self::Mongodb => Standalone::mongodb().await,
        };
        started.unwrap()
    }
}

/// A server that one rule has for itself, and may kill. One rule after the other has it: as many are started as rules run at once.
struct Lent {
    kind: Kind,
    /// Some until it is given back.
    server: Option<Standalone>,
    /// The part of it that no other rule uses: a prefix in etcd, a database in MongoDB.
    part: String,
}

impl Lent {
    async fn of(kind: Kind) -> Arc<Self> {
        static RULES: AtomicUsize = AtomicUsize::new(0);
        let part = format!("rule-{}", RULES.fetch_add(1, Ordering::Relaxed));
        let free = kind.free().pop();
        let server = match free {
            Some(server) => server,
            None => kind.start().await,
        };
        Arc::new(Self { kind, server: Some(server), part })
    }

    fn server(&self) -> &Standalone {
        self.server.as_ref().unwrap()
    }

    async fn open(&self) -> Arc<dyn Store> {
        let (scheme, address) = (self.kind.scheme(), self.server().address());
        dcm_store::open(&format!("{scheme}://{address}/{}?timeout={TIMEOUT}", self.part)).await.unwrap()
    }

    /// Kills the server, and starts it again.
    async fn kill(&self) {
        self.server().kill();
        self.server().start().await.unwrap();
    }

    /// Overwrites a document below the store.
    async fn damage(&self, path: Path) {
        match self.kind {
            Kind::Etcd => etcd_http::put(self.server(), &format!("{}/{path}", self.part), &[0xff]).unwrap(),
            Kind::Mongodb => self.damage_record(&path).await,
        }
    }

    /// Gives a record a version that is none, and says so to those who watch.
    async fn damage_record(&self, path: &Path) {
        let url = format!("mongodb://{}", self.server().address());
        let client = mongodb::Client::with_uri_str(url).await.unwrap();
        let records = client.database(&self.part).collection::<bson::Document>("DCM");
        let now = doc! { "changed": { "$type": "timestamp" } };
        let damage = doc! { "$set": { "version": "none" }, "$currentDate": now };
        let updated = records.update_one(doc! { "_id": path.as_str() }, damage).await.unwrap();
        assert_eq!(updated.modified_count, 1);
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // After a rule that fails, the server may not be as it was.
        if let Some(server) = self.server.take_if(|_| !std::thread::panicking()) {
            self.kind.free().push(server);
        }
    }
}

/// A store on a server.
async fn on_server(kind: Kind) -> Subject {
    let lent = Lent::of(kind).await;
    let (opened, damaged) = (lent.clone(), lent.clone());
    let open = async move || opened.open().await;
    let subject = durable(open, async move |path| damaged.damage(path).await).await;
    subject.disturbed_by(async move || lent.kill().await)
}

/// The wrapper over a server; of a document there the MAC is lost.
async fn encrypted_on_server(kind: Kind) -> Subject {
    let lent = Lent::of(kind).await;
    let (opened, damaged) = (lent.clone(), lent.clone());
    let open = async move || held(encrypted(opened.open().await));
    let damage = async move |path| damage_sealed(&*damaged.open().await, path).await;
    durable(open, damage).await.disturbed_by(async move || lent.kill().await)
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
        on_server(Kind::Etcd).await
    }

    dcm_store::conformance!(subject);
}

mod mongodb_server {
    use super::*;

    async fn subject() -> Subject {
        on_server(Kind::Mongodb).await
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
        encrypted_on_server(Kind::Etcd).await
    }

    dcm_store::conformance!(subject);
}

mod encrypted_over_mongodb {
    use super::*;

    async fn subject() -> Subject {
        encrypted_on_server(Kind::Mongodb).await
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
