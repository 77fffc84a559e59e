//! What a simulated store holds.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::task::{Context, Poll, Waker};

use dcm_core::port::store::{Change, Document, Entry, Error, Page, Path, Prefix, Version, Write};
use jiff::Timestamp;

/// Documents, and the order in which they changed.
#[derive(Default)]
pub(in crate::simulation) struct Database {
    documents: BTreeMap<Path, (Version, Document)>,
    last_version: u64,
    /// What changed, and when, oldest first.
    changes: Vec<(Timestamp, Path)>,
    /// Watches of an earlier epoch are lost.
    epoch: u64,
    /// Grows when watches have something to look at.
    stirred: u64,
    watchers: Vec<Waker>,
}

/// Where a watch begins, or how far it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    epoch: u64,
    change: usize,
}

/// What a watch sees next.
pub(super) enum Sight {
    /// A path changed at this time; this is its present state.
    Changed(Timestamp, Change),
    /// Nothing yet.
    Nothing,
    /// Something was lost.
    Lost,
}

fn entry((path, (version, document)): (&Path, &(Version, Document))) -> Entry {
    Entry { path: path.clone(), version: *version, document: document.clone() }
}

impl Database {
    pub(super) fn get(&self, path: &Path) -> Option<Entry> {
        self.documents.get_key_value(path).map(entry)
    }

    pub(super) fn below<'a>(&'a self, prefix: &'a Prefix) -> impl Iterator<Item = Entry> + 'a {
        let start = (Bound::Excluded(prefix.as_str()), Bound::Unbounded);
        self.documents.range::<str, _>(start).take_while(|(path, _)| prefix.contains(path)).map(entry)
    }

    pub(super) fn page(&self, prefix: &Prefix, after: Option<&Path>, limit: usize) -> Page {
        let after = after.map_or("", Path::as_str).max(prefix.as_str());
        let found = self.documents.range::<str, _>((Bound::Excluded(after), Bound::Unbounded));
        let found = found.take_while(|(path, _)| prefix.contains(path));
        let mut entries: Vec<Entry> = found.take(limit + 1).map(entry).collect();
        let more = entries.len() > limit;
        entries.truncate(limit);
        let next = if more { entries.last().map(|last| last.path.clone()) } else { None };
        Page { entries, next }
    }

    /// Refuses a write whose expectation does not hold.
    pub(super) fn check(&self, write: &Write) -> Result<(), Error> {
        let found = self.documents.get(write.path()).map(|(version, _)| *version);
        let expected = match write {
            Write::Create { .. } => None,
            Write::Update { version, .. } | Write::Delete { version, .. } => Some(*version),
        };
        if found == expected { Ok(()) } else { Err(Error::Conflict { path: write.path().clone(), found }) }
    }

    pub(super) fn apply(&mut self, write: &Write, now: Timestamp) -> Version {
        let version = match write {
            Write::Create { path, document } | Write::Update { path, document, .. } => {
                self.last_version += 1;
                let version = Version(self.last_version);
                self.documents.insert(path.clone(), (version, document.clone()));
                version
            }
            Write::Delete { path, version } => {
                self.documents.remove(path);
                *version
            }
        };
        self.changes.push((now, write.path().clone()));
        self.wake();
        version
    }

    pub(super) fn lose_watches(&mut self) {
        self.epoch += 1;
        self.wake();
    }

    fn wake(&mut self) {
        self.stirred += 1;
        self.watchers.drain(..).for_each(Waker::wake);
    }

    /// Where a watch begins that begins now.
    pub(super) fn watch(&self) -> Place {
        Place { epoch: self.epoch, change: self.changes.len() }
    }

    /// The next change that a watch has not passed yet. What changed again later is passed over: its present state
    /// comes then.
    pub(super) fn look(&self, place: &mut Place, prefix: &Prefix) -> Sight {
        if place.epoch != self.epoch {
            return Sight::Lost;
        }
        while let Some((at, path)) = self.changes.get(place.change) {
            let is_last = || !self.changes[place.change + 1..].iter().any(|(_, later)| later == path);
            if prefix.contains(path) && is_last() {
                let change = self.get(path).map_or_else(|| Change::Deleted(path.clone()), Change::Put);
                return Sight::Changed(*at, change);
            }
            place.change += 1;
        }
        Sight::Nothing
    }

    pub(super) fn stirred(&self) -> u64 {
        self.stirred
    }

    /// Ready when something has stirred since.
    pub(super) fn poll_stirred(&mut self, stirred: u64, context: &Context<'_>) -> Poll<()> {
        if self.stirred != stirred {
            return Poll::Ready(());
        }
        self.watchers.push(context.waker().clone());
        Poll::Pending
    }
}

impl Place {
    /// Passes the change that was looked at.
    pub(super) fn pass(&mut self) {
        self.change += 1;
    }
}
