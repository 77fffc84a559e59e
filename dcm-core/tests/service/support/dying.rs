//! A store whose process dies: after some writes every call fails, until the process is started again.

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
    deaths: AtomicUsize,
}

impl Dying {
    pub(crate) fn new(inner: Arc<MemoryStore>) -> Self {
        Self { inner, dead: AtomicBool::new(false), deaths: AtomicUsize::new(0) }
    }

    /// Lets the process die at the write after this many.
    pub(crate) fn die_after(&self, writes: usize, fault: Fault) {
        self.inner.fail_after(writes, fault);
    }

    pub(crate) fn start_again(&self) {
        self.dead.store(false, Ordering::SeqCst);
    }

    pub(crate) fn has_died(&self) -> bool {
        self.deaths.load(Ordering::SeqCst) > 0
    }

    fn alive(&self) -> Result<(), Error> {
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
        self.alive()?;
        self.inner.get(path).await
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        self.alive()?;
        self.inner.list(prefix, page).await
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        self.alive().map_err(|source| BatchError { applied: 0, source })?;
        let written = self.inner.write(batch).await;
        if matches!(&written, Err(error) if matches!(error.source, Error::Unavailable { .. })) {
            self.dead.store(true, Ordering::SeqCst);
            self.deaths.fetch_add(1, Ordering::SeqCst);
        }
        written
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        self.alive()?;
        self.inner.watch(prefix).await
    }
}
