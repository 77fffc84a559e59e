//! The store under test, and what the rules do with it.

use std::any::Any;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dcm_core::port::in_order::InOrder;
use dcm_core::port::store::{
    BatchError, Capabilities, Change, Document, Entry, Error, Path, Prefix, Store, StoreExt, Version, Watch,
    Write,
};
use futures::StreamExt;
use futures::future::LocalBoxFuture;

use crate::lock::lock;

/// How long a rule waits for what must come. A rule that holds never waits so long: it is much more than real servers need on a busy
/// machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// How long a rule waits before it asks a backend again that is away.
const PAUSE: Duration = Duration::from_millis(10);

/// An asynchronous closure of any type.
trait Hook<A, T>: Send + Sync {
    fn call(&self, argument: A) -> LocalBoxFuture<'_, T>;
}

impl<A: 'static, T, F: AsyncFn(A) -> T + Send + Sync> Hook<A, T> for F {
    fn call(&self, argument: A) -> LocalBoxFuture<'_, T> {
        Box::pin(self(argument))
    }
}

/// A store under test, with a fresh folder in it.
pub struct Subject {
    /// None while it is closed.
    store: Mutex<Option<Arc<dyn Store>>>,
    open: Option<Box<dyn Hook<(), Arc<dyn Store>>>>,
    disturb: Option<Box<dyn Hook<(), ()>>>,
    damage: Option<Box<dyn Hook<Path, ()>>>,
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
        Self {
            store: Mutex::new(Some(store)),
            open: None,
            disturb: None,
            damage: None,
            folder,
            _kept: Box::new(()),
        }
    }

    /// Opens the store once more, as another process would: a store that is `durable` or `shared` needs it. One that is not shared is
    /// closed (all of it dropped) before it is opened again; of one that is neither, this gives a new one.
    #[must_use]
    pub fn opened_by(self, open: impl AsyncFn() -> Arc<dyn Store> + Send + Sync + 'static) -> Self {
        Self { open: Some(Box::new(async move |()| open().await)), ..self }
    }

    /// Makes the backend go away and come back, such as by killing its server and starting it again; it is back when this is done.
    /// It should be the subject's own. Without it, the rules about that are held by a backend that never goes away.
    #[must_use]
    pub fn disturbed_by(self, disturb: impl AsyncFn() + Send + Sync + 'static) -> Self {
        Self { disturb: Some(Box::new(async move |()| disturb().await)), ..self }
    }

    /// Damages what is kept of the document with this path, so that the store finds it and can't read it: below the store, such as
    /// with the database's own tools. A text that is no JSON is not enough: stores don't parse what they keep. Without it, the rule
    /// about that holds nothing: leave it out where nobody but the store can write what it keeps.
    #[must_use]
    pub fn damaged_by(self, damage: impl AsyncFn(Path) + Send + Sync + 'static) -> Self {
        Self { damage: Some(Box::new(damage)), ..self }
    }

    /// Keeps something until the rule is through, such as the folder or the server that the store needs.
    #[must_use]
    pub fn keep(self, kept: impl Any + Send + Sync) -> Self {
        Self { _kept: Box::new((self._kept, kept)), ..self }
    }

    /// The store, as it was opened last.
    ///
    /// # Panics
    /// While it is closed.
    #[must_use]
    pub fn store(&self) -> Arc<dyn Store> {
        lock(&self.store).clone().expect("the store is open")
    }

    /// Opens the store once more; none where nobody can and it is nothing that outlives or leaves its process.
    pub(super) async fn open(&self) -> Option<Arc<dyn Store>> {
        let Capabilities { durable, shared, .. } = self.store().capabilities();
        let needed = durable || shared;
        assert!(self.open.is_some() || !needed, "the rule opens the store once more: say how by `opened_by`");
        Some(self.open.as_ref()?.call(()).await)
    }

    /// Closes the store and opens it again; false where nobody can.
    pub(super) async fn open_again(&self) -> bool {
        let Some(open) = &self.open else { return self.open().await.is_some() };
        self.keep_store(None);
        self.keep_store(Some(open.call(()).await));
        true
    }

    fn keep_store(&self, store: Option<Arc<dyn Store>>) {
        *lock(&self.store) = store;
    }

    /// The store as another process has it at the same time; the same handle where there can't be one.
    pub(super) async fn beside(&self) -> Arc<dyn Store> {
        let opened = if self.store().capabilities().shared { self.open().await } else { None };
        opened.unwrap_or_else(|| self.store())
    }

    /// The store as another process has it later; the same handle where there can't be one.
    pub(super) async fn later(&self) -> Arc<dyn Store> {
        let Capabilities { durable, shared, .. } = self.store().capabilities();
        if durable && !shared {
            self.open_again().await;
        }
        self.beside().await
    }

    /// Makes the backend go away and come back, if it can.
    pub(super) async fn disturb(&self) {
        if let Some(disturb) = &self.disturb {
            disturb.call(()).await;
        }
    }

    /// Damages a document below the store; false where nobody can.
    pub(super) async fn damage(&self, name: &str) -> bool {
        let Some(damage) = &self.damage else { return false };
        damage.call(self.path(name)).await;
        true
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
        self.store().get(&self.path(name)).await.expect("get")
    }

    /// Names and versions of all documents.
    pub(super) async fn list(&self) -> BTreeMap<String, Version> {
        let entries = self.store().list_all(&self.prefix()).await.expect("list");
        entries.into_iter().map(|entry| (self.name(&entry.path), entry.version)).collect()
    }

    /// The part of a path below the fresh folder.
    pub(super) fn name(&self, path: &Path) -> String {
        let name = path.as_str().strip_prefix(self.prefix().as_str());
        name.unwrap_or_else(|| panic!("{path} is not below {}", self.folder)).to_owned()
    }

    pub(super) async fn write(&self, write: Write) -> Result<Version, Error> {
        self.store().write_one(write).await
    }

    pub(super) async fn batch(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        self.store().write(batch).await
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
        self.watch_of(&*self.store()).await
    }

    /// The same by another handle.
    pub(super) async fn watch_of(&self, store: &dyn Store) -> Follower {
        let watch = answered("a watch", async || store.watch(&self.prefix()).await).await;
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

/// Asks until a backend that was away answers.
pub(super) async fn answered<T>(what: &str, ask: impl AsyncFn() -> Result<T, Error>) -> T {
    let asking = async {
        loop {
            match ask().await {
                Ok(answer) => return answer,
                Err(Error::Unavailable { .. }) => tokio::time::sleep(PAUSE).await,
                Err(error) => panic!("{what}: {error:?}"),
            }
        }
    };
    soon(what, asking).await
}

/// Makes what is left of these writes, in order; those that find their document changed were made before.
pub(super) async fn finish(store: &dyn Store, writes: Vec<Write>) {
    let mut writes = InOrder::new(writes);
    let finishing = async {
        loop {
            match writes.go_on(store).await {
                Ok(None) => return,
                Ok(Some(conflict)) => assert!(conflict.found.is_some(), "{conflict:?}"),
                Err(Error::Unavailable { .. }) => tokio::time::sleep(PAUSE).await,
                Err(error) => panic!("{error:?}"),
            }
        }
    };
    soon("the writes", finishing).await;
}

/// Reads a watch until it has told all of these or says that it lost something, behind which nothing may come.
pub(super) async fn all_or_lost(watch: &mut Watch, mut untold: BTreeMap<Path, Version>) {
    while !untold.is_empty() {
        match soon("what was written, or that it is lost", watch.next()).await {
            Some(Change::Put(entry)) if untold.get(&entry.path) == Some(&entry.version) => {
                untold.remove(&entry.path);
            }
            Some(Change::Put(_) | Change::Deleted(_)) => {}
            Some(Change::Lost) => {
                let behind = soon("the end of a lost watch", watch.next()).await;
                assert_eq!(behind, None, "a lost watch ends");
                return;
            }
            None => return,
        }
    }
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
