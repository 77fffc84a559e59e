//! A store in which every call lets others go first, so that calls at the same time meet, and whose watches can be lost.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Change, Entry, Error, Page, PageRequest, Path, Prefix, Store, Version, Watch,
    Write,
};
use dcm_store::MemoryStore;
use futures::{FutureExt as _, StreamExt as _};

pub(crate) struct Polite {
    inner: MemoryStore,
    lost: tokio::sync::watch::Sender<()>,
    calls: AtomicUsize,
    batches: AtomicUsize,
}

impl Polite {
    pub(crate) fn over(inner: MemoryStore) -> Self {
        let lost = tokio::sync::watch::Sender::new(());
        Self { inner, lost, calls: AtomicUsize::new(0), batches: AtomicUsize::new(0) }
    }

    /// How many calls there were since the last time.
    pub(crate) fn calls(&self) -> usize {
        self.calls.swap(0, Ordering::SeqCst)
    }

    /// How many batches it was given up to now.
    pub(crate) fn batches(&self) -> usize {
        self.batches.load(Ordering::SeqCst)
    }

    async fn let_others_go_first(&self) {
        self.calls.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
    }

    /// All watches that there are lose something.
    pub(crate) fn lose_watches(&self) {
        self.lost.send_replace(());
    }
}

#[async_trait]
impl Store for Polite {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        self.let_others_go_first().await;
        self.inner.get(path).await
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        self.let_others_go_first().await;
        self.inner.list(prefix, page).await
    }

    /// A batch that is not atomic is written one by one: others come between.
    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        self.batches.fetch_add(1, Ordering::SeqCst);
        if self.capabilities().atomic_batches {
            self.let_others_go_first().await;
            return self.inner.write(batch).await;
        }
        let mut versions = Vec::new();
        for (applied, write) in batch.iter().enumerate() {
            self.let_others_go_first().await;
            let written = self.inner.write(std::slice::from_ref(write)).await;
            versions.extend(written.map_err(|error| BatchError { applied, source: error.source })?);
        }
        Ok(versions)
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        let mut lost = self.lost.subscribe();
        let until_lost = async move { drop(lost.changed().await) };
        let changes = self.inner.watch(prefix).await?.take_until(until_lost.boxed());
        Ok(changes.chain(futures::stream::iter([Change::Lost])).boxed())
    }
}
