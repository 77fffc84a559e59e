//! A store whose process dies: after a failed write every call fails, until the process is started again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Entry, Error, Page, PageRequest, Path, Prefix, Store, Version, Watch, Write,
};
use dcm_store::MemoryStore;
use dcm_store::memory::{Fault, MadeToFail};

pub(crate) struct Dying {
    inner: Arc<MemoryStore>,
    dead: AtomicBool,
    faults: AtomicUsize,
    dies: AtomicBool,
}

impl Dying {
    pub(crate) fn new(inner: Arc<MemoryStore>) -> Self {
        Self { inner, dead: AtomicBool::new(false), faults: AtomicUsize::new(0), dies: AtomicBool::new(true) }
    }

    /// Lets the write after this many fail, and the process die of it or not.
    pub(crate) fn fail_after(&self, writes: usize, fault: Fault, dies: bool) {
        self.dies.store(dies, Ordering::SeqCst);
        self.inner.fail_after(writes, fault);
    }

    pub(crate) fn start_again(&self) {
        self.dead.store(false, Ordering::SeqCst);
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.faults.load(Ordering::SeqCst) > 0
    }

    /// Every call lets others go first, so that calls at the same time meet.
    async fn alive(&self) -> Result<(), Error> {
        tokio::task::yield_now().await;
        if self.dead.load(Ordering::SeqCst) { Err(unavailable()) } else { Ok(()) }
    }
}

fn unavailable() -> Error {
    Error::Unavailable { source: Arc::new(MadeToFail) }
}

#[async_trait]
impl Store for Dying {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        self.alive().await?;
        self.inner.get(path).await
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        self.alive().await?;
        self.inner.list(prefix, page).await
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        self.alive().await.map_err(|source| BatchError { applied: 0, source })?;
        let written = self.inner.write(batch).await;
        if matches!(&written, Err(error) if matches!(error.source, Error::Unavailable { .. })) {
            self.dead.store(self.dies.load(Ordering::SeqCst), Ordering::SeqCst);
            self.faults.fetch_add(1, Ordering::SeqCst);
        }
        written
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        self.alive().await?;
        self.inner.watch(prefix).await
    }
}
