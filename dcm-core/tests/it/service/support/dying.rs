//! A store whose process dies: after a failed write every call fails, until the process is started again.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Entry, Error, Page, PageRequest, Path, Prefix, Store, Version, Watch, Write,
};
use dcm_store::MemoryStore;
use dcm_store::memory::{Fault, MadeToFail};
use futures::FutureExt as _;
use futures::future::BoxFuture;

pub(crate) struct Dying {
    inner: Arc<MemoryStore>,
    dead: AtomicBool,
    /// How many writes have failed.
    failed: AtomicUsize,
    dies: AtomicBool,
    /// How many reads there were, how many are under way, and how many were at most.
    reads: AtomicUsize,
    under_way: AtomicUsize,
    at_once: AtomicUsize,
    /// The path whose reads are counted, how many more of them go well, and what happens then.
    before_read: Mutex<Option<(Path, usize, Hook)>>,
}

type Hook = BoxFuture<'static, Result<(), Error>>;

impl Dying {
    pub(crate) fn new(inner: Arc<MemoryStore>) -> Self {
        Self {
            inner,
            dead: AtomicBool::new(false),
            failed: AtomicUsize::new(0),
            dies: AtomicBool::new(true),
            reads: AtomicUsize::new(0),
            under_way: AtomicUsize::new(0),
            at_once: AtomicUsize::new(0),
            before_read: Mutex::new(None),
        }
    }

    /// What it is over.
    pub(crate) fn inner(&self) -> Arc<MemoryStore> {
        self.inner.clone()
    }

    /// Lets the write after this many fail, and the process die of it or not.
    pub(crate) fn fail_after(&self, writes: usize, fault: Fault, dies: bool) {
        self.dies.store(dies, Ordering::SeqCst);
        self.inner.fail_after(writes, fault);
    }

    /// Runs something before one read of a document, after so many others of it; the read may fail of it.
    pub(crate) fn before_read(
        &self,
        path: &str,
        reads: usize,
        hook: impl Future<Output = Result<(), Error>> + Send + 'static,
    ) {
        *self.before_read.lock().unwrap() = Some((Path::new(path).unwrap(), reads, hook.boxed()));
    }

    fn due(&self, path: &Path) -> Option<Hook> {
        let mut before = self.before_read.lock().unwrap();
        let (_, reads, _) = before.as_mut().filter(|(watched, ..)| watched == path)?;
        match reads.checked_sub(1) {
            Some(left) => *reads = left,
            None => return before.take().map(|(.., hook)| hook),
        }
        None
    }

    pub(crate) fn start_again(&self) {
        self.dead.store(false, Ordering::SeqCst);
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed() > 0
    }

    /// How many writes have failed: in an atomic batch all.
    pub(crate) fn failed(&self) -> usize {
        self.failed.load(Ordering::SeqCst)
    }

    /// How often a document or a page was read since this was asked last.
    pub(crate) fn reads(&self) -> usize {
        self.reads.swap(0, Ordering::SeqCst)
    }

    /// How many reads were under way at once at the most since this was asked last.
    pub(crate) fn at_once(&self) -> usize {
        self.at_once.swap(0, Ordering::SeqCst)
    }

    async fn reading<T>(&self, read: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        let under_way = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.at_once.fetch_max(under_way, Ordering::SeqCst);
        let read = read.await;
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        read
    }

    /// Every call lets others go first, so that calls at the same time meet.
    async fn alive(&self) -> Result<(), Error> {
        tokio::task::yield_now().await;
        if self.dead.load(Ordering::SeqCst) { Err(unavailable()) } else { Ok(()) }
    }
}

pub(crate) fn unavailable() -> Error {
    Error::Unavailable { source: Arc::new(MadeToFail) }
}

#[async_trait]
impl Store for Dying {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        self.reading(async {
            self.alive().await?;
            if let Some(hook) = self.due(path) {
                hook.await?;
            }
            self.inner.get(path).await
        })
        .await
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        self.reading(async {
            self.alive().await?;
            self.inner.list(prefix, page).await
        })
        .await
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        self.alive().await.map_err(|source| BatchError { applied: 0, source })?;
        let written = self.inner.write(batch).await;
        if matches!(&written, Err(error) if matches!(error.source, Error::Unavailable { .. })) {
            self.dead.store(self.dies.load(Ordering::SeqCst), Ordering::SeqCst);
            let failed = if self.inner.capabilities().atomic_batches { batch.len() } else { 1 };
            self.failed.fetch_add(failed, Ordering::SeqCst);
        }
        written
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        self.alive().await?;
        self.inner.watch(prefix).await
    }
}
