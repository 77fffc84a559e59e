//! A store that tells what it is asked: a span for each call, and counts of calls, documents, bytes and failures.
//!
//! Spans (target `dcm_store`, level `DEBUG`) have the path or prefix, how much came of it, and the error. No document is in them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Change, Entry, Error, Page, PageRequest, Path, Prefix, Store, Version, Watch,
    Write,
};
use futures::StreamExt;
use serde::Serialize;
use tracing::field::{Empty, display};
use tracing::{Instrument, Span, debug_span};

/// What a store was asked since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Single documents that were asked for.
    pub gets: u64,
    /// Pages that were asked for.
    pub lists: u64,
    /// Batches that were written, or tried to be.
    pub batches: u64,
    /// Watches that were begun.
    pub watches: u64,
    /// Documents that were read, by any call.
    pub documents_read: u64,
    /// Their size, in bytes.
    pub bytes_read: u64,
    /// Writes in all batches.
    pub writes: u64,
    /// The size of their documents, in bytes.
    pub bytes_written: u64,
    /// Changes that watches told.
    pub changes: u64,
    /// Writes that found their document otherwise than they expected.
    pub conflicts: u64,
    /// Calls that failed otherwise.
    pub failures: u64,
}

/// The counts, while they grow.
#[derive(Default)]
struct Counters {
    gets: AtomicU64,
    lists: AtomicU64,
    batches: AtomicU64,
    watches: AtomicU64,
    documents_read: AtomicU64,
    bytes_read: AtomicU64,
    writes: AtomicU64,
    bytes_written: AtomicU64,
    changes: AtomicU64,
    conflicts: AtomicU64,
    failures: AtomicU64,
}

fn add(counter: &AtomicU64, count: usize) {
    counter.fetch_add(count as u64, Ordering::Relaxed);
}

impl Counters {
    fn read<'e>(&self, entries: impl IntoIterator<Item = &'e Entry>) {
        for entry in entries {
            add(&self.documents_read, 1);
            add(&self.bytes_read, entry.document.as_str().len());
        }
    }

    fn failed(&self, error: &Error) {
        Span::current().record("error", display(error));
        match error {
            Error::Conflict { .. } => add(&self.conflicts, 1),
            _ => add(&self.failures, 1),
        }
    }
}

/// A store that tells what it is asked.
pub struct TracedStore<S: ?Sized> {
    counters: Arc<Counters>,
    inner: Arc<S>,
}

impl<S: Store + ?Sized> TracedStore<S> {
    /// Tells what `inner` is asked.
    #[must_use]
    pub fn new(inner: Arc<S>) -> Self {
        Self { counters: Arc::default(), inner }
    }

    /// What it was asked up to now.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let counters = &self.counters;
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            gets: get(&counters.gets),
            lists: get(&counters.lists),
            batches: get(&counters.batches),
            watches: get(&counters.watches),
            documents_read: get(&counters.documents_read),
            bytes_read: get(&counters.bytes_read),
            writes: get(&counters.writes),
            bytes_written: get(&counters.bytes_written),
            changes: get(&counters.changes),
            conflicts: get(&counters.conflicts),
            failures: get(&counters.failures),
        }
    }
}

#[async_trait]
impl<S: Store + ?Sized> Store for TracedStore<S> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        let span = debug_span!(target: "dcm_store", "store.get", %path, found = Empty, error = Empty);
        let get = async {
            add(&self.counters.gets, 1);
            let got = self.inner.get(path).await.inspect_err(|error| self.counters.failed(error))?;
            self.counters.read(&got);
            Span::current().record("found", got.is_some());
            Ok(got)
        };
        get.instrument(span).await
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        let span = debug_span!(target: "dcm_store", "store.list", %prefix, documents = Empty, error = Empty);
        let list = async {
            add(&self.counters.lists, 1);
            let page =
                self.inner.list(prefix, page).await.inspect_err(|error| self.counters.failed(error))?;
            self.counters.read(&page.entries);
            Span::current().record("documents", page.entries.len());
            Ok(page)
        };
        list.instrument(span).await
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        let first = batch.first().map(|write| display(write.path()));
        let bytes: usize = batch.iter().map(Write::bytes).sum();
        let writes = batch.len();
        let span = debug_span!(target: "dcm_store", "store.write", first, writes, bytes, error = Empty);
        let write = async {
            add(&self.counters.batches, 1);
            add(&self.counters.writes, writes);
            add(&self.counters.bytes_written, bytes);
            self.inner.write(batch).await.inspect_err(|failed| self.counters.failed(&failed.source))
        };
        write.instrument(span).await
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        let span = debug_span!(target: "dcm_store", "store.watch", %prefix, error = Empty);
        let watch = async {
            add(&self.counters.watches, 1);
            self.inner.watch(prefix).await.inspect_err(|error| self.counters.failed(error))
        };
        let watch = watch.instrument(span).await?;
        let counters = self.counters.clone();
        let told = watch.inspect(move |change| {
            add(&counters.changes, 1);
            if let Change::Put(entry) = change {
                counters.read([entry]);
            }
        });
        Ok(told.boxed())
    }
}
