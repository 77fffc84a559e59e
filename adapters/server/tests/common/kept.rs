//! A store that remembers every document that was ever written to it, also what is replaced or deleted a moment later.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Document, Entry, Error, Page, PageRequest, Path, Prefix, Store, Version, Watch,
    Write,
};
use dcm_store::MemoryStore;

/// A memory store that keeps no secret in clear, as those on a disk do, and promises no more than the weakest of them.
pub(crate) struct Kept {
    inner: MemoryStore,
    written: Mutex<Vec<(Path, Document)>>,
}

impl Kept {
    pub(crate) fn new() -> Arc<Self> {
        let inner = MemoryStore::builder().atomic_batches(false).build();
        Arc::new(Self { inner, written: Mutex::default() })
    }

    /// Everything that was written, in that order.
    pub(crate) fn written(&self) -> Vec<(Path, Document)> {
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
        let documents = batch[..applied].iter();
        let documents = documents.filter_map(|write| Some((write.path().clone(), write.document()?.clone())));
        self.written.lock().unwrap().extend(documents);
        result
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        self.inner.watch(prefix).await
    }
}
