//! A store that remembers every document that was ever written to it, also what is replaced or deleted a moment later.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Document, Entry, Error, Page, PageRequest, Path, Prefix, Store, Version, Watch,
    Write,
};
use dcm_store::MemoryStore;
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;

tokio::task_local! {
    /// The call that is under way in this task.
    static CALL: &'static str;
}

/// Who writes what belongs to no call.
pub(crate) const WORKER: &str = "a worker";

/// Does what belongs to a call of this name.
pub(crate) fn during<'a, T>(call: &'static str, work: impl Future<Output = T> + 'a) -> LocalBoxFuture<'a, T> {
    CALL.scope(call, work).boxed_local()
}

/// A document as it was written, and during which call.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) path: Path,
    pub(crate) document: Document,
    pub(crate) by: &'static str,
}

/// A memory store that keeps no secret in clear, as those on a disk do, and promises no more than the weakest of them.
pub(crate) struct Kept {
    inner: MemoryStore,
    written: Mutex<Vec<Written>>,
}

impl Kept {
    pub(crate) fn new() -> Arc<Self> {
        let inner = MemoryStore::builder().atomic_batches(false).build();
        Arc::new(Self { inner, written: Mutex::default() })
    }

    /// Everything that was written, in that order.
    pub(crate) fn written(&self) -> Vec<Written> {
        self.written.lock().unwrap().clone()
    }

    /// What is there now.
    pub(crate) async fn standing(&self) -> BTreeMap<Path, Document> {
        let page = PageRequest::default();
        let page = self.inner.list(&Prefix::everything(), &page).await.unwrap();
        assert_eq!(page.next, None, "all of it fits one page");
        page.entries.into_iter().map(|entry| (entry.path, entry.document)).collect()
    }
}

#[async_trait]
impl Store for Kept {
    fn capabilities(&self) -> Capabilities {
        Capabilities { holds_secrets: false, ..self.inner.capabilities() }
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        self.inner.get(path).await
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        self.inner.list(prefix, page).await
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        let result = self.inner.write(batch).await;
        let applied = result.as_ref().map_or_else(|error| error.applied, |_| batch.len());
        let by = CALL.try_with(|call| *call).unwrap_or(WORKER);
        let written = batch[..applied].iter().filter_map(|write| {
            Some(Written { path: write.path().clone(), document: write.document()?.clone(), by })
        });
        self.written.lock().unwrap().extend(written);
        result
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        self.inner.watch(prefix).await
    }
}
