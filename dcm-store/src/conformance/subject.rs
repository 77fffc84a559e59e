//! The store under test, and what the rules do with it.

use std::any::Any;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::port::store::{
    BatchError, Change, Document, Entry, Error, Path, Prefix, Store, StoreExt, Version, Watch, Write,
};
use futures::StreamExt;

/// How long a rule waits for what must come. Long enough for a busy machine with real servers on it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A store under test, with a fresh folder in it.
pub struct Subject {
    store: Arc<dyn Store>,
    folder: Path,
    _kept: Box<dyn Any + Send + Sync>,
}

impl Subject {
    /// Tests this store, in a folder with a random name.
    ///
    /// # Panics
    /// When the system gives no random numbers.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        let number = getrandom::u64().expect("the system gives no random numbers");
        let folder = Path::new(format!("conformance/{number:016x}")).expect("a path");
        Self { store, folder, _kept: Box::new(()) }
    }

    /// Keeps something until the rule is through, such as the folder or the server that the store needs.
    #[must_use]
    pub fn keep(self, kept: impl Any + Send + Sync) -> Self {
        Self { _kept: Box::new((self._kept, kept)), ..self }
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// A path below the fresh folder.
    pub(super) fn path(&self, name: &str) -> Path {
        Path::new(format!("{}/{name}", self.folder)).expect("a path")
    }

    /// All that is below the fresh folder.
    pub(super) fn prefix(&self) -> Prefix {
        Prefix::below(&self.folder)
    }

    pub(super) async fn get(&self, name: &str) -> Option<Entry> {
        self.store.get(&self.path(name)).await.expect("get")
    }

    /// Names and versions of all documents.
    pub(super) async fn list(&self) -> BTreeMap<String, Version> {
        let entries = self.store.list_all(&self.prefix()).await.expect("list");
        entries.into_iter().map(|entry| (self.name(&entry.path), entry.version)).collect()
    }

    /// The part of a path below the fresh folder.
    pub(super) fn name(&self, path: &Path) -> String {
        let name = path.as_str().strip_prefix(self.prefix().as_str());
        name.unwrap_or_else(|| panic!("{path} is not below {}", self.folder)).to_owned()
    }

    pub(super) async fn write(&self, write: Write) -> Result<Version, Error> {
        self.store.write_one(write).await
    }

    pub(super) async fn batch(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        self.store.write(batch).await
    }

    pub(super) fn creation(&self, name: &str, content: u64) -> Write {
        Write::Create { path: self.path(name), document: document(content) }
    }

    pub(super) fn update(&self, name: &str, version: Version, content: u64) -> Write {
        Write::Update { path: self.path(name), version, document: document(content) }
    }

    pub(super) fn deletion(&self, name: &str, version: Version) -> Write {
        Write::Delete { path: self.path(name), version }
    }

    pub(super) async fn create(&self, name: &str, content: u64) -> Version {
        self.write(self.creation(name, content))
            .await
            .unwrap_or_else(|error| panic!("create {name}: {error:?}"))
    }

    /// Refuses anything but a conflict that names the document and what was found.
    pub(super) fn assert_conflict(&self, error: &Error, name: &str, expected: Option<Version>) {
        match error {
            Error::Conflict { path, found } => {
                assert_eq!((path, *found), (&self.path(name), expected), "the conflict names what was found");
            }
            other => panic!("expected a conflict about {name}, got {other:?}"),
        }
    }

    pub(super) async fn watch(&self) -> Follower {
        let watch = self.store.watch(&self.prefix()).await.expect("watch");
        Follower { watch, prefix: self.prefix() }
    }
}

/// A document with a number in it.
pub(super) fn document(content: u64) -> Document {
    Document::from_value(&serde_json::json!({ "content": content })).expect("a document")
}

/// The number in a document.
pub(super) fn content(entry: &Entry) -> u64 {
    entry.document.read::<serde_json::Value>().expect("the document")["content"]
        .as_u64()
        .expect("its content")
}

/// Waits for what must come.
pub(super) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(PATIENCE, future).await;
    done.unwrap_or_else(|_| panic!("nothing for {} seconds: {what}", PATIENCE.as_secs()))
}

/// What a watch of a backend at rest tells.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    Put(Entry),
    Deleted(Path),
}

/// Reads a watch.
pub(super) struct Follower {
    watch: Watch,
    prefix: Prefix,
}

impl Follower {
    /// The next change; it must be below the prefix.
    pub(super) async fn next(&mut self, what: &str) -> Told {
        let (path, told) = match soon(what, self.watch.next()).await {
            Some(Change::Put(entry)) => (entry.path.clone(), Told::Put(entry)),
            Some(Change::Deleted(path)) => (path.clone(), Told::Deleted(path)),
            Some(Change::Lost) | None => panic!("the watch was lost: the suite wants a backend at rest"),
        };
        assert!(self.prefix.contains(&path), "the watch of {} told of {path}", self.prefix);
        told
    }

    /// Reads until a document is there in this version or a later one.
    pub(super) async fn until_put(&mut self, path: &Path, version: Version) -> Entry {
        loop {
            match self.next(&format!("{path} in version {}", version.0)).await {
                Told::Put(entry) if entry.path == *path && entry.version >= version => return entry,
                _ => {}
            }
        }
    }

    /// Reads until a document is told to be gone.
    pub(super) async fn until_deleted(&mut self, path: &Path) {
        while self.next(&format!("the deletion of {path}")).await != Told::Deleted(path.clone()) {}
    }
}
