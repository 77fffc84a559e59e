//! A store below that returns something else than it was asked is found out, whatever it is: SQLite, a real etcd, a real FerretDB
//! and memory. All documents are valid: each was written with the keys, for its own path.
#![allow(clippy::unwrap_used)]
#![cfg(all(
    feature = "memory",
    feature = "sqlite",
    feature = "etcd",
    feature = "mongodb",
    feature = "encrypted"
))]

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Change, Document, Entry, Error, Page, PageRequest, Path, Prefix, Store,
    StoreExt as _, Version, Watch, Write,
};
use dcm_store::encrypted::KEY_BYTES;
use dcm_store::{EncryptedStore, Keyring, MemoryStore};
use dcm_testenv::effort::patience;
use dcm_testenv::{Standalone, etcd_http};
use futures::StreamExt as _;
use serde_json::json;

use crate::documents::{path, words};
use crate::relay::Relay;

/// All documents, in order.
const NAMES: [&str; 5] = ["before/x", "lab/a", "lab/b", "lab/c", "other/x"];

type Lie<T> = Mutex<Option<T>>;

/// A page that is made of all documents there are.
type PageLie = fn(&[Entry]) -> Page;

/// Another outcome of a write.
type WriteLie = fn(&[Write], Vec<Version>) -> Result<Vec<Version>, BatchError>;

/// Does what it is asked, and returns something else.
struct Liar {
    inner: Arc<dyn Store>,
    get: Lie<Path>,
    list: Lie<PageLie>,
    write: Lie<WriteLie>,
    watch: Lie<Prefix>,
}

impl Liar {
    fn over(inner: Arc<dyn Store>) -> Arc<Self> {
        let (get, list, write, watch) = Default::default();
        Arc::new(Self { inner, get, list, write, watch })
    }
}

fn said<T: Clone>(lie: &Lie<T>) -> Option<T> {
    lie.lock().unwrap().clone()
}

fn say<T>(lie: &Lie<T>, what: impl Into<Option<T>>) {
    *lie.lock().unwrap() = what.into();
}

#[async_trait]
impl Store for Liar {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        self.inner.get(&said(&self.get).unwrap_or_else(|| path.clone())).await
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        match said(&self.list) {
            Some(lie) => Ok(lie(&self.inner.list_all(&Prefix::everything()).await?)),
            None => self.inner.list(prefix, page).await,
        }
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        let versions = self.inner.write(batch).await?;
        said(&self.write).map_or(Ok(versions.clone()), |lie| lie(batch, versions))
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        self.inner.watch(&said(&self.watch).unwrap_or_else(|| prefix.clone())).await
    }
}

fn keyring() -> Keyring {
    Keyring::new("k1".parse().unwrap(), &[7; KEY_BYTES])
}

fn created(name: &str) -> Write {
    Write::Create { path: path(name), document: Document::from_value(&json!({"name": name})).unwrap() }
}

fn below(folder: &str) -> Prefix {
    Prefix::below(&path(folder))
}

/// All of it, over one store.
async fn held_to_what_is_asked(kept: Arc<dyn Store>) {
    let liar = Liar::over(kept);
    let store = EncryptedStore::new(liar.clone(), keyring());
    for name in NAMES {
        store.write_one(created(name)).await.unwrap();
    }
    reads(&liar, &store).await;
    lists(&liar, &store).await;
    watches(&liar, &store).await;
    writes(&liar, &store).await;
    let listed = store.list_all(&below("lab")).await.unwrap();
    assert!(listed.iter().all(|entry| entry.document.text().is_ok()) && listed.len() >= 3, "{listed:?}");
}

async fn reads(liar: &Liar, store: &EncryptedStore<Liar>) {
    for (asked, returned) in [("lab/A", "lab/a"), ("lab/a", "lab/b"), ("lab/none", "other/x")] {
        say(&liar.get, path(returned));
        let error = store.get(&path(asked)).await.unwrap_err();
        assert!(matches!(error, Error::Failed { .. }), "{error:?}");
        assert!(
            words(&error).ends_with(&format!("the store below returned {returned} for {asked}")),
            "{}",
            words(&error)
        );
    }
    // Also the document that shows which keys are the store's.
    assert!(store.check_keys().await.is_err());
    say(&liar.get, None);
    store.check_keys().await.unwrap();
    assert_eq!(store.get(&path("lab/a")).await.unwrap().unwrap().path, path("lab/a"));
}

/// A list of these of [`NAMES`].
fn page(all: &[Entry], which: &[usize], next: Option<usize>) -> Page {
    let entries = which.iter().map(|place| all[*place].clone()).collect();
    Page { entries, next: next.map(|place| all[place].path.clone()) }
}

async fn lists(liar: &Liar, store: &EncryptedStore<Liar>) {
    let lies: [(&str, PageLie, &str); 8] = [
        ("one before the prefix", |all| page(all, &[0, 1, 2], None), "before/x in a list below"),
        ("one behind the prefix", |all| page(all, &[2, 4], None), "other/x in a list below"),
        ("another prefix", |all| page(all, &[4], None), "other/x in a list below"),
        ("one twice", |all| page(all, &[2, 2, 3], None), "lab/b behind lab/b"),
        ("backwards", |all| page(all, &[3, 2], None), "lab/b behind lab/c"),
        ("one before the start", |all| page(all, &[1, 2], None), "lab/a behind lab/a"),
        ("more than were asked for", |all| page(all, &[2, 3, 3], None), "3 documents where at most 2"),
        ("from the beginning again", |all| page(all, &[2, 3], Some(1)), "a list that goes back"),
    ];
    for (name, lie, why) in lies {
        say(&liar.list, lie);
        let limit = Some(if why.contains("at most") { 2 } else { 10 });
        let request = PageRequest { after: Some(path("lab/a")), limit };
        let error = store.list(&below("lab"), &request).await.unwrap_err();
        assert!(
            matches!(error, Error::Failed { .. }) && words(&error).contains(why),
            "{name}: {}",
            words(&error)
        );
    }
    let empty: PageLie = |all| page(all, &[], Some(1));
    say(&liar.list, empty);
    let request = PageRequest { after: Some(path("lab/a")), limit: None };
    assert!(store.list(&below("lab"), &request).await.is_err(), "it would never end");
    say(&liar.list, None);
    let page = store.list(&below("lab"), &request).await.unwrap();
    let names: Vec<&str> = page.entries.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!((names, page.next), (vec!["lab/b", "lab/c"], None));
}

async fn watches(liar: &Liar, store: &EncryptedStore<Liar>) {
    let next = async |watch: &mut Watch| tokio::time::timeout(patience(), watch.next()).await.unwrap();
    say(&liar.watch, Prefix::everything());
    let mut watch = store.watch(&below("lab")).await.unwrap();
    let version = store.write_one(created("lab/d")).await.unwrap();
    assert!(matches!(next(&mut watch).await, Some(Change::Put(entry)) if entry.version == version));
    let version = store.write_one(created("other/y")).await.unwrap();
    assert_eq!(next(&mut watch).await, Some(Change::Lost));
    assert_eq!(next(&mut watch).await, None);
    let mut watch = store.watch(&below("lab")).await.unwrap();
    store.write_one(Write::Delete { path: path("other/y"), version }).await.unwrap();
    assert_eq!(next(&mut watch).await, Some(Change::Lost));
    say(&liar.watch, None);
}

async fn writes(liar: &Liar, store: &EncryptedStore<Liar>) {
    let update = async || {
        let Entry { path, version, document } = store.get(&path("lab/a")).await.unwrap().unwrap();
        Write::Update { path, version, document }
    };
    let lies: [(WriteLie, &str); 5] = [
        (|_, _| Ok(Vec::new()), "0 versions for 1 writes"),
        (|_, versions| Ok([versions.clone(), versions].concat()), "2 versions for 1 writes"),
        (|_, _| Ok(vec![Version(0)]), "the version 0 for a write of lab/a"),
        (
            |_, _| {
                let path = Path::new("lab/b").unwrap();
                Err(BatchError { applied: 0, source: Error::Conflict { path, found: None } })
            },
            "a conflict about lab/b",
        ),
        (
            |batch, _| {
                let path = batch[0].path().clone();
                Err(BatchError { applied: 1, source: Error::Conflict { path, found: None } })
            },
            "a failure of write 1 of 1",
        ),
    ];
    for (lie, why) in lies {
        let update = update().await;
        say(&liar.write, lie);
        let error = store.write_one(update).await.unwrap_err();
        say(&liar.write, None);
        assert!(
            matches!(error, Error::Unavailable { .. }) && words(&error).contains(why),
            "{}",
            words(&error)
        );
    }
    let Entry { path, version, .. } = store.get(&path("lab/a")).await.unwrap().unwrap();
    let another: WriteLie = |_, versions| Ok(versions.iter().map(|version| Version(version.0 + 1)).collect());
    say(&liar.write, another);
    assert!(store.write_one(Write::Delete { path, version }).await.unwrap_err().is_retryable());
    say(&liar.write, None);
}

#[tokio::test]
async fn memory_is_held_to_what_is_asked() {
    held_to_what_is_asked(Arc::new(MemoryStore::new())).await;
}

#[tokio::test]
async fn sqlite_is_held_to_what_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    held_to_what_is_asked(dcm_store::open(&url).await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn etcd_is_held_to_what_is_asked() {
    let server = Standalone::etcd().await.unwrap();
    let kept = dcm_store::open(&format!("etcd://{}?timeout=60", server.address())).await.unwrap();
    held_to_what_is_asked(kept.clone()).await;
    // Its keys are bytes. A document that was moved to another key has the MAC of its own path.
    let store = EncryptedStore::new(kept.clone(), keyring());
    let moved = kept.get(&path("lab/b")).await.unwrap().unwrap().document;
    etcd_http::put(&server, "dcm/lab/B", moved.as_str().as_bytes()).unwrap();
    let entry = store.get(&path("lab/B")).await.unwrap().unwrap();
    assert!(entry.path == path("lab/B") && entry.document.text().is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn mongodb_is_held_to_what_is_asked() {
    let server = Standalone::mongodb().await.unwrap();
    held_to_what_is_asked(
        dcm_store::open(&format!("mongodb://{}?timeout=60", server.address())).await.unwrap(),
    )
    .await;
}

/// The tables are made anew while the store is open, which is the moment at which nothing of the file is checked.
#[tokio::test]
async fn a_sqlite_column_that_ignores_case_gives_no_document_of_another_path() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let kept = dcm_store::open(&format!("sqlite:{}", file.display())).await.unwrap();
    let store = EncryptedStore::new(kept, keyring());
    for name in ["lab/one", "lab/two"] {
        store.write_one(created(name)).await.unwrap();
    }
    let other = rusqlite::Connection::open(&file).unwrap();
    let ignoring_case = "
        BEGIN;
        ALTER TABLE documents RENAME TO before;
        CREATE TABLE documents (path TEXT PRIMARY KEY COLLATE NOCASE, version INTEGER, document TEXT);
        INSERT INTO documents SELECT path, version, document FROM before;
        DROP TABLE before;
        COMMIT;";
    other.execute_batch(ignoring_case).unwrap();
    for name in ["lab/One", "LAB/two"] {
        let error = store.get(&path(name)).await.unwrap_err();
        assert!(words(&error).contains(&format!("{} for {name}", name.to_lowercase())), "{}", words(&error));
    }
    assert!(store.get(&path("lab/one")).await.unwrap().is_some());
    // Paths that are not in bytewise order: `lab/Zoo` is before `lab/one`.
    let version = 100;
    let zoo = "INSERT INTO documents VALUES ('lab/Zoo', ?1, '{}')";
    other.execute(zoo, (version,)).unwrap();
    let error = store.list_all(&below("lab")).await.unwrap_err();
    assert!(words(&error).contains("lab/Zoo behind lab/two"), "{}", words(&error));
}

/// The collation of a collection, as a server with collations applies it: the one of these tests has none.
#[tokio::test(flavor = "multi_thread")]
async fn a_mongodb_collection_that_ignores_case_gives_no_document_of_another_path() {
    let server = Standalone::mongodb().await.unwrap();
    let relay = Relay::before(server.address()).await;
    let kept = dcm_store::open(&format!("mongodb://{}?timeout=60", relay.address())).await.unwrap();
    let store = EncryptedStore::new(kept, keyring());
    for name in ["lab/one", "lab/two"] {
        store.write_one(created(name)).await.unwrap();
    }
    assert_eq!(store.get(&path("lab/One")).await.unwrap(), None);
    relay.ignore_case();
    for name in ["lab/One", "LAB/two"] {
        let error = store.get(&path(name)).await.unwrap_err();
        assert!(words(&error).contains(&format!("{} for {name}", name.to_lowercase())), "{}", words(&error));
    }
    let error = store.list_all(&below("LAB")).await.unwrap_err();
    assert!(words(&error).contains("lab/one in a list below"), "{}", words(&error));
    assert!(store.get(&path("lab/one")).await.unwrap().is_some());
}
