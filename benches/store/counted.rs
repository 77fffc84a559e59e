//! A store that counts what it is asked, and notes which documents that is about.
//!
//! Counted is what reaches the backend: behind encryption, where it has any, so bytes are those that are sent and kept. A call
//! of memory or SQLite is no message to anybody; one of etcd is one request, but for the beginning of a watch, which asks for
//! the revision first; one of MongoDB is one command, with another one for each list that the server cuts short, and one more
//! for a batch that conflicts.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use dcm_core::name::ClusterId;
use dcm_core::port::store::{
    BatchError, Capabilities, Entry, Error, Page, PageRequest, Path, Prefix, Store, Version, Watch, Write,
};
use dcm_store::encrypted::KeyringSource;
use dcm_store::trace::Counts;
use dcm_store::{EncryptedStore, TracedStore};

/// Where the documents of lanes are, and what was issued for them.
const LANES: [&str; 2] = ["lanes/", "results/"];

pub(crate) struct Counted {
    traced: Arc<TracedStore<Noted>>,
    noted: Arc<Noted>,
    before: Mutex<Counts>,
    /// To be used; it holds secrets.
    pub(crate) store: Arc<dyn Store>,
}

/// What was asked in some time.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Calls that only read; the beginnings of watches are among them.
    pub(crate) reads: u64,
    /// Batches.
    pub(crate) writes: u64,
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    touched: Touched,
}

/// Which documents.
#[derive(Debug, Clone, Default)]
struct Touched {
    written: BTreeSet<String>,
    /// Paths, and prefixes of lists and watches.
    read: BTreeSet<String>,
}

impl Counted {
    pub(crate) fn over(inner: Arc<dyn Store>, keys: &Arc<dyn KeyringSource>) -> Self {
        let holds_secrets = inner.capabilities().holds_secrets;
        let noted = Arc::new(Noted { inner, touched: Mutex::default() });
        let traced = Arc::new(TracedStore::new(noted.clone()));
        let store: Arc<dyn Store> = match holds_secrets {
            true => traced.clone(),
            false => Arc::new(EncryptedStore::with_keys(traced.clone(), keys.clone())),
        };
        Self { traced, noted, before: Mutex::default(), store }
    }

    /// How many calls there were up to now.
    pub(crate) fn calls(&self) -> u64 {
        let counts = self.traced.counts();
        counts.gets + counts.lists + counts.watches + counts.batches
    }

    /// What was asked since this was last said.
    pub(crate) fn take(&self) -> Asked {
        let now = self.traced.counts();
        let before = std::mem::replace(&mut *held(&self.before), now);
        let reads = |counts: Counts| counts.gets + counts.lists + counts.watches;
        Asked {
            reads: reads(now) - reads(before),
            writes: now.batches - before.batches,
            bytes_read: now.bytes_read - before.bytes_read,
            bytes_written: now.bytes_written - before.bytes_written,
            touched: std::mem::take(&mut *held(&self.noted.touched)),
        }
    }
}

impl Asked {
    pub(crate) fn requests(&self) -> u64 {
        self.reads + self.writes
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes_read + self.bytes_written
    }

    /// How many documents were written, each counted once.
    pub(crate) fn documents_written(&self) -> usize {
        self.touched.written.len()
    }

    /// What was read or written of lanes on other clusters; a list of more than one lane is among it.
    pub(crate) fn other_lanes(&self, cluster: &ClusterId) -> usize {
        let own = LANES.map(|lanes| (lanes, format!("/{}/{}/", cluster.provider, cluster.cluster)));
        let is_others = |path: &&String| {
            own.iter().any(|(lanes, own)| path.starts_with(lanes) && !format!("{path}/").contains(own))
        };
        self.touched.written.union(&self.touched.read).filter(is_others).count()
    }
}

/// Notes which documents a store is asked about.
struct Noted {
    inner: Arc<dyn Store>,
    touched: Mutex<Touched>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Noted {
    fn read(&self, place: &str) {
        held(&self.touched).read.insert(place.to_owned());
    }
}

#[async_trait]
impl Store for Noted {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        self.read(path.as_str());
        self.inner.get(path).await
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        self.read(prefix.as_str());
        self.inner.list(prefix, page).await
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        held(&self.touched).written.extend(batch.iter().map(|write| write.path().to_string()));
        self.inner.write(batch).await
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        self.read(prefix.as_str());
        self.inner.watch(prefix).await
    }
}
