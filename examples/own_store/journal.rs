//! A store of one's own: a journal that is read when it is opened, and has a line more for each batch.
//!
//! It is a whole backend: durable, with atomic batches, for one process. `tests/own_store.rs` holds it to the contract.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path as FilePath;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Change, Document, Entry, Error, Page, PageRequest, Path, Prefix, Store,
    Version, Watch, Write,
};
use dcm_store::rules;
use futures::StreamExt as _;
use futures::channel::mpsc::{Receiver, Sender, channel};

/// Changes that a reader has not taken yet. Behind more, its watch ends, which means the same as being lost.
const UNREAD_MAX: usize = 10_000;

/// What a batch made of a document: its path, its version, and its text if it is still there.
type Line = Vec<(String, u64, Option<String>)>;

/// Documents in a journal.
pub(crate) struct JournalStore(Mutex<State>);

struct State {
    journal: File,
    documents: BTreeMap<Path, Entry>,
    /// The last version that any document was given: it grows for ever, so none is used again.
    version: u64,
    watches: Vec<(Prefix, Sender<Change>)>,
}

impl JournalStore {
    /// Opens the journal, and makes it when there is none.
    ///
    /// # Errors
    /// When it can't be read, or is none. The line of a batch that was cut off is none: nobody was told that it was written.
    pub(crate) fn open(file: &FilePath) -> io::Result<Self> {
        let mut journal = File::options().create(true).read(true).append(true).open(file)?;
        let mut text = String::new();
        journal.read_to_string(&mut text)?;
        let whole = text.rfind('\n').map_or(0, |last| last + 1);
        journal.set_len(whole as u64)?;
        let mut state = State { journal, documents: BTreeMap::new(), version: 0, watches: Vec::new() };
        for line in text[..whole].lines() {
            state.apply(serde_json::from_str(line)?);
        }
        Ok(Self(Mutex::new(state)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What a batch makes, if each document is as it expects.
    fn line(&self, batch: &[Write]) -> Result<(Line, Vec<Version>), Error> {
        let (mut line, mut versions, mut version) = (Line::new(), Vec::new(), self.version);
        for write in batch {
            let found = self.documents.get(write.path()).map(|entry| entry.version);
            let expected = match write {
                Write::Create { .. } => None,
                Write::Update { version, .. } | Write::Delete { version, .. } => Some(*version),
            };
            if found != expected {
                return Err(Error::Conflict { path: write.path().clone(), found });
            }
            version += 1;
            let text = write.document().map(|document| document.as_str().to_owned());
            versions.push(if text.is_some() { Version(version) } else { found.unwrap_or(Version(0)) });
            line.push((write.path().to_string(), version, text));
        }
        Ok((line, versions))
    }

    /// The journal has it first: what is told was written.
    fn keep(&mut self, line: Line) -> io::Result<()> {
        let text = serde_json::to_string(&line)? + "\n";
        let length = self.journal.metadata()?.len();
        let kept = self.journal.write_all(text.as_bytes()).and_then(|()| self.journal.sync_data());
        if kept.is_err() {
            self.journal.set_len(length)?;
        }
        kept.map(|()| self.apply(line))
    }

    fn apply(&mut self, line: Line) {
        for (path, version, text) in line {
            let Ok(path) = Path::new(&path) else { continue };
            self.version = version;
            let change = match text {
                Some(text) => {
                    let document = Document::from_stored(text);
                    let entry = Entry { path: path.clone(), version: Version(version), document };
                    self.documents.insert(path.clone(), entry.clone());
                    Change::Put(entry)
                }
                None => {
                    self.documents.remove(&path);
                    Change::Deleted(path.clone())
                }
            };
            // Whoever went away, or does not read, is not told any more.
            self.watches.retain_mut(|(prefix, watch)| {
                !prefix.contains(&path) || watch.try_send(change.clone()).is_ok()
            });
        }
    }
}

#[async_trait]
impl Store for JournalStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities { atomic_batches: true, durable: true, shared: false, holds_secrets: false }
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        Ok(self.state().documents.get(path).cloned())
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        let limit = rules::page_limit(page)?;
        let state = self.state();
        let below = state.documents.values().filter(|entry| prefix.contains(&entry.path));
        let mut rest = below.filter(|entry| page.after.as_ref().is_none_or(|after| entry.path > *after));
        let entries: Vec<Entry> = rest.by_ref().take(limit).cloned().collect();
        let next = rest.next().and(entries.last()).map(|last| last.path.clone());
        Ok(Page { entries, next })
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        let refused = |source| BatchError { applied: 0, source };
        rules::check_batch(batch, self.capabilities().holds_secrets).map_err(refused)?;
        let mut state = self.state();
        let (line, versions) = state.line(batch).map_err(refused)?;
        if let Err(error) = state.keep(line) {
            let reason = "the journal can't be written".to_owned();
            return Err(refused(Error::Failed { reason, source: Some(Arc::new(error)) }));
        }
        Ok(versions)
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        let (sender, receiver): (_, Receiver<Change>) = channel(UNREAD_MAX);
        self.state().watches.push((prefix.clone(), sender));
        Ok(receiver.boxed())
    }
}
