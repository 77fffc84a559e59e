//! Documents in memory: for tests, examples and short-lived programs.
//!
//! Tests of services make it as weak as the contract allows ([`Builder::atomic_batches`],
//! [`Builder::watch_pending_max`]) and let writes fail ([`MemoryStore::fail_after`]).

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Change, Document, Entry, Error, Page, PageRequest, Path, Prefix, Store,
    Version, Watch, Write,
};

use crate::hub::{Hub, PENDING_MAX};
use crate::lock::lock;
use crate::rules;

/// A store that ends with its process. It holds clear secrets: nothing of it reaches a disk by our doing.
///
/// Its watches keep the latest change of each path for a slow reader, and end with [`Change::Lost`] beyond 100,000 of them, or 64 MiB
/// of documents.
pub struct MemoryStore {
    state: Mutex<State>,
    hub: Hub,
    atomic_batches: bool,
}

#[derive(Default)]
struct State {
    documents: BTreeMap<Path, (Version, Document)>,
    last_version: u64,
    fault: Option<(usize, Fault)>,
}

/// How a write fails that is made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It does not happen, and the answer is [`Error::Unavailable`].
    NotWritten,
    /// It happens, and the answer is [`Error::Unavailable`] all the same.
    Unanswered,
}

/// The cause of a write that was made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the write was made to fail")]
pub struct MadeToFail;

/// Options of a [`MemoryStore`].
#[derive(Debug, Clone, Copy)]
pub struct Builder {
    atomic_batches: bool,
    watch_pending_max: usize,
}

impl Builder {
    /// Whether a batch is applied as a whole or not at all; the default is that it is.
    #[must_use]
    pub fn atomic_batches(self, atomic_batches: bool) -> Self {
        Self { atomic_batches, ..self }
    }

    /// Paths whose change a slow reader of a watch has not taken yet, at most, before it gets [`Change::Lost`]; the
    /// default is 100,000. Beyond 64 MiB of documents it does so, too.
    #[must_use]
    pub fn watch_pending_max(self, watch_pending_max: usize) -> Self {
        Self { watch_pending_max, ..self }
    }

    /// An empty store.
    #[must_use]
    pub fn build(self) -> MemoryStore {
        let hub = Hub::new(self.watch_pending_max);
        MemoryStore { state: Mutex::default(), hub, atomic_batches: self.atomic_batches }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    /// An empty store with atomic batches.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// An empty store with options.
    #[must_use]
    pub fn builder() -> Builder {
        Builder { atomic_batches: true, watch_pending_max: PENDING_MAX }
    }

    /// Lets the next `writes` writes pass and the one after them fail, once. Writes of a batch count one by one; with
    /// atomic batches the whole batch of the failing one fails. Writes that the store refuses don't count.
    pub fn fail_after(&self, writes: usize, fault: Fault) {
        lock(&self.state).fault = Some((writes, fault));
    }

    /// True until the write of [`Self::fail_after`] has failed: a test that fails each write once is through when it
    /// stays true.
    #[must_use]
    pub fn fault_is_pending(&self) -> bool {
        lock(&self.state).fault.is_some()
    }
}

impl State {
    /// Refuses a write whose expectation does not hold.
    fn check(&self, write: &Write) -> Result<(), Error> {
        let found = self.documents.get(write.path()).map(|(version, _)| *version);
        let expected = match write {
            Write::Create { .. } => None,
            Write::Update { version, .. } | Write::Delete { version, .. } => Some(*version),
        };
        if found == expected { Ok(()) } else { Err(Error::Conflict { path: write.path().clone(), found }) }
    }

    fn apply(&mut self, write: &Write) -> (Version, Change) {
        match write {
            Write::Create { path, document } | Write::Update { path, document, .. } => {
                self.last_version += 1;
                let version = Version(self.last_version);
                self.documents.insert(path.clone(), (version, document.clone()));
                (version, Change::Put(entry(path, version, document)))
            }
            Write::Delete { path, version } => {
                self.documents.remove(path);
                (*version, Change::Deleted(path.clone()))
            }
        }
    }

    /// The fault of the next write, if it is to fail now.
    fn fault(&mut self) -> Option<Fault> {
        match self.fault.take() {
            Some((0, fault)) => Some(fault),
            Some((writes, fault)) => {
                self.fault = Some((writes - 1, fault));
                None
            }
            None => None,
        }
    }

    fn write_all_or_none(
        &mut self,
        batch: &[Write],
        changes: &mut Vec<Change>,
    ) -> Result<Vec<Version>, BatchError> {
        let refused = |source| BatchError { applied: 0, source };
        batch.iter().try_for_each(|write| self.check(write)).map_err(refused)?;
        let fault = batch.iter().filter_map(|_| self.fault()).last();
        if fault == Some(Fault::NotWritten) {
            return Err(refused(made_to_fail()));
        }
        let mut versions = Vec::with_capacity(batch.len());
        for write in batch {
            let (version, change) = self.apply(write);
            versions.push(version);
            changes.push(change);
        }
        if fault.is_some() { Err(refused(made_to_fail())) } else { Ok(versions) }
    }

    fn write_one_by_one(
        &mut self,
        batch: &[Write],
        changes: &mut Vec<Change>,
    ) -> Result<Vec<Version>, BatchError> {
        let mut versions = Vec::with_capacity(batch.len());
        for (applied, write) in batch.iter().enumerate() {
            self.check(write).map_err(|source| BatchError { applied, source })?;
            let fault = self.fault();
            if fault != Some(Fault::NotWritten) {
                let (version, change) = self.apply(write);
                versions.push(version);
                changes.push(change);
            }
            if fault.is_some() {
                return Err(BatchError { applied, source: made_to_fail() });
            }
        }
        Ok(versions)
    }
}

fn made_to_fail() -> Error {
    Error::Unavailable { source: Arc::new(MadeToFail) }
}

fn entry(path: &Path, version: Version, document: &Document) -> Entry {
    Entry { path: path.clone(), version, document: document.clone() }
}

#[async_trait]
impl Store for MemoryStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            atomic_batches: self.atomic_batches,
            durable: false,
            shared: false,
            holds_secrets: true,
        }
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        let state = lock(&self.state);
        Ok(state.documents.get(path).map(|(version, document)| entry(path, *version, document)))
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        let limit = rules::page_limit(page)?;
        let state = lock(&self.state);
        let after = page.after.as_ref().map_or("", Path::as_str).max(prefix.as_str());
        let found = state
            .documents
            .range::<str, _>((Bound::Excluded(after), Bound::Unbounded))
            .take_while(|(path, _)| prefix.contains(path));
        let mut entries: Vec<Entry> = found
            .take(limit + 1)
            .map(|(path, (version, document))| entry(path, *version, document))
            .collect();
        let more = entries.len() > limit;
        entries.truncate(limit);
        let next = if more { entries.last().map(|last| last.path.clone()) } else { None };
        Ok(Page { entries, next })
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        rules::check_batch(batch, true).map_err(|source| BatchError { applied: 0, source })?;
        let mut changes = Vec::with_capacity(batch.len());
        let mut state = lock(&self.state);
        let written = if self.atomic_batches {
            state.write_all_or_none(batch, &mut changes)
        } else {
            state.write_one_by_one(batch, &mut changes)
        };
        // Told under the lock, so that watches see changes in their order.
        self.hub.publish(&changes);
        written
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        Ok(self.hub.subscribe(prefix))
    }
}
