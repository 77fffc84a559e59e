//! A store that tells what it is asked: a span for each call, counts of calls, documents, bytes and failures, and how calls of
//! each kind ended, and how long they took.
//!
//! Spans (target `dcm_store`, level `DEBUG`) have the path or prefix, how much came of it, and the error. No document is in them.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Change, Entry, Error, Page, PageRequest, Path, Prefix, Store, Version, Watch,
    Write,
};
use futures::StreamExt;
use serde::Serialize;
use tokio::time::Instant;
use tracing::field::{Empty, display};
use tracing::{Instrument, Span, debug_span};

use crate::lock::lock;

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

impl Counts {
    fn read<'e>(&mut self, entries: impl IntoIterator<Item = &'e Entry>) {
        for entry in entries {
            self.documents_read += 1;
            self.bytes_read += entry.document.as_str().len() as u64;
        }
    }

    fn wrote(&mut self, writes: usize, bytes: usize) {
        self.batches += 1;
        self.writes += writes as u64;
        self.bytes_written += bytes as u64;
    }

    fn failed(&mut self, error: &Error) {
        Span::current().record("error", display(error));
        match error {
            Error::Conflict { .. } => self.conflicts += 1,
            _ => self.failures += 1,
        }
    }
}

/// What a store can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// For one document.
    Get,
    /// For a page of documents.
    List,
    /// To write a batch.
    Write,
    /// To begin a watch.
    Watch,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Get, Self::List, Self::Write, Self::Watch];

    /// Its name, in lower case.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Write => "write",
            Self::Watch => "watch",
        }
    }
}

/// How calls of one kind ended since the store was made. A call that nobody waited for to its end is none of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ended {
    /// Well.
    pub done: u64,
    /// As a document was not as expected, which had no effect, though writes before it in a batch may have had: of writes alone.
    pub conflicts: u64,
    /// With another error.
    pub failures: u64,
    /// How long all of them took together.
    pub took: Duration,
}

impl Ended {
    fn add(&mut self, error: Option<&Error>, took: Duration) {
        match error {
            None => self.done += 1,
            Some(Error::Conflict { .. }) => self.conflicts += 1,
            Some(_) => self.failures += 1,
        }
        self.took += took;
    }
}

/// A store that tells what it is asked.
pub struct TracedStore<S: ?Sized> {
    counts: Arc<Mutex<Counts>>,
    ended: Mutex<[Ended; Kind::ALL.len()]>,
    inner: Arc<S>,
}

impl<S: Store + ?Sized> TracedStore<S> {
    /// Tells what `inner` is asked.
    #[must_use]
    pub fn new(inner: Arc<S>) -> Self {
        Self { counts: Arc::default(), ended: Mutex::default(), inner }
    }

    /// What it was asked up to now.
    #[must_use]
    pub fn counts(&self) -> Counts {
        *self.count()
    }

    /// How calls of a kind ended up to now.
    #[must_use]
    pub fn ended(&self, kind: Kind) -> Ended {
        lock(&self.ended)[kind as usize]
    }

    /// Waits for what the store answers, and notes how that ended.
    async fn noted<T, E>(
        &self,
        kind: Kind,
        call: impl Future<Output = Result<T, E>>,
        cause: impl FnOnce(&E) -> &Error,
    ) -> Result<T, E> {
        let since = Instant::now();
        let answer = call.await;
        let error = answer.as_ref().err().map(cause);
        if let Some(error) = error {
            self.count().failed(error);
        }
        lock(&self.ended)[kind as usize].add(error, since.elapsed());
        answer
    }

    fn count(&self) -> MutexGuard<'_, Counts> {
        lock(&self.counts)
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
            self.count().gets += 1;
            let got = self.noted(Kind::Get, self.inner.get(path), |error| error).await?;
            self.count().read(&got);
            Span::current().record("found", got.is_some());
            Ok(got)
        };
        get.instrument(span).await
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        let span = debug_span!(target: "dcm_store", "store.list", %prefix, documents = Empty, error = Empty);
        let list = async {
            self.count().lists += 1;
            let page = self.noted(Kind::List, self.inner.list(prefix, page), |error| error).await?;
            self.count().read(&page.entries);
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
        self.count().wrote(writes, bytes);
        let write = self.noted(Kind::Write, self.inner.write(batch), |failed| &failed.source);
        write.instrument(span).await
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        let span = debug_span!(target: "dcm_store", "store.watch", %prefix, error = Empty);
        let watch = async {
            self.count().watches += 1;
            self.noted(Kind::Watch, self.inner.watch(prefix), |error| error).await
        };
        let watch = watch.instrument(span).await?;
        let counts = self.counts.clone();
        let told = watch.inspect(move |change| {
            let mut counts = lock(&counts);
            counts.changes += 1;
            if let Change::Put(entry) = change {
                counts.read([entry]);
            }
        });
        Ok(told.boxed())
    }
}
