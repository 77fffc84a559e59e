//! Finds what was written by asking for it, again and again.
//!
//! The server puts its own time on each record that it writes. New is what has a time from a little before the last look on
//! ([`WINDOW`]: writes that are made at once need not be seen in the order of their times), and was not seen before. However long
//! nobody looked, as when the process stood still, nothing lies before that. Of several members each write is seen when enough of
//! them have it, however long that takes: the next look goes on from where that was so at the last one.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use dcm_core::port::store::{Change, Error, Path, Prefix, Version, Watch};
use mongodb::bson::{Document, Timestamp, doc};
use tokio::sync::{Mutex, Notify};
use tokio::time::Instant;

use super::clock::{Clock, before};
use super::failure::unavailable;
use super::record::{self, CHANGED, Dated, Head, ID};
use super::server::{Find, Freshness, Server};
use crate::hub::{Hub, PENDING_MAX};

/// How often what was written is looked for while somebody watches, at the most: a server that takes long to tell is asked less
/// often. What this store itself writes is looked for at once.
pub const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Looking takes at most one part in so many of the time while nobody writes here, and half of it while somebody does.
const POLL_SHARE: u32 = 4;

/// How far the order in which writes are seen may differ from that of their times, the clock's error included.
const WINDOW: Duration = Duration::from_secs(5);

/// How many heads of records are asked for at a time.
const RECORDS_MAX: usize = 500;

/// How many whole documents are: some 100 MiB, if all of them were as large as they may be.
const DOCUMENTS_MAX: usize = 100;

/// All watches of a store.
pub(super) struct Watching {
    server: Arc<Server>,
    hub: Hub,
    /// What was seen; none while nobody looks.
    seen: Mutex<Option<Seen>>,
    news: Arc<Notify>,
}

/// What was seen of the server.
struct Seen {
    clock: Clock,
    /// The server's time up to which the last look saw everything.
    looked: SystemTime,
    /// The records with times in the window.
    known: BTreeMap<Path, (Version, Timestamp)>,
}

impl Watching {
    pub(super) fn new(server: Arc<Server>) -> Self {
        Self { server, hub: Hub::new(PENDING_MAX), seen: Mutex::new(None), news: Arc::default() }
    }

    /// Something was written that watches need not wait for.
    pub(super) fn look(&self) {
        self.news.notify_one();
    }

    /// Follows the changes below a prefix from now on.
    pub(super) async fn follow(self: &Arc<Self>, prefix: &Prefix) -> Result<Watch, Error> {
        let mut seen = self.seen.lock().await;
        if let Some(seen) = &mut *seen {
            // What is older than this watch is told to the others before it begins.
            self.poll(seen, Tell::All).await?;
        } else {
            let clock = Clock::set(&self.server).await?;
            let mut begun = Seen { clock, looked: clock.now(), known: BTreeMap::new() };
            self.poll(&mut begun, Tell::Nobody).await?;
            *seen = Some(begun);
            tokio::spawn(run(Arc::downgrade(self), self.news.clone()));
        }
        Ok(self.hub.subscribe(prefix))
    }

    /// Sees what was written since the last time.
    async fn poll(&self, seen: &mut Seen, tell: Tell) -> Result<(), Error> {
        let begun = seen.clock.checked(&self.server).await?;
        let lasting = self.server.lasting().await?;
        let mut from = before(seen.looked.min(begun), WINDOW);
        loop {
            let (records, is_more) = self.server.find(written(from)).await?;
            let last = records.last().and_then(record::changed);
            let records: Vec<Dated> = records.iter().filter_map(record::dated).collect();
            let mut shown = Vec::new();
            if tell == Tell::All {
                let news = records.iter().map(|dated| &dated.head).filter(|head| seen.is_new(head));
                // Most of what is written nobody follows.
                let news: Vec<&Head> = news.filter(|head| self.hub.is_followed(&head.path)).collect();
                for heads in news.chunks(DOCUMENTS_MAX) {
                    let documents = self.documents(heads).await?;
                    self.hub.publish(&told(heads, &documents)?);
                    shown.extend(documents.iter().filter_map(record::dated));
                }
            }
            seen.note(records.into_iter().chain(shown));
            match last {
                Some(last) if is_more => from = last,
                _ => break,
            }
        }
        seen.looked_at(begun, lasting);
        Ok(())
    }

    /// The records of documents that were there, as they are by now.
    async fn documents(&self, heads: &[&Head]) -> Result<Vec<Document>, Error> {
        let live = heads.iter().filter(|head| !head.is_deleted);
        let ids: Vec<&str> = live.map(|head| head.path.as_str()).collect();
        Ok(match ids.as_slice() {
            [] => Vec::new(),
            ids => self.server.find(these(ids)).await?.0,
        })
    }
}

/// What has become of documents, by what was read of those that were there.
///
/// # Errors
/// When that is older than what was seen, as after another member has become the primary: nobody would tell of it again.
fn told(heads: &[&Head], records: &[Document]) -> Result<Vec<Change>, Error> {
    let now = records.iter().filter_map(|record| Some((record::head(record)?, record)));
    let now: BTreeMap<Path, (Head, &Document)> = now.map(|now| (now.0.path.clone(), now)).collect();
    let change = |head: &&Head| {
        if head.is_deleted {
            return Ok(Change::Deleted(head.path.clone()));
        }
        let as_new = now.get(&head.path).filter(|(now, _)| now.is_as_new_as(head));
        let (now, record) =
            as_new.ok_or_else(|| unavailable("what it shows is older than what it has shown"))?;
        match record::entry(record) {
            Some(entry) if !now.is_deleted => Ok(Change::Put(entry)),
            _ => Ok(Change::Deleted(head.path.clone())),
        }
    };
    heads.iter().map(change).collect()
}

/// Who is told what is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tell {
    All,
    Nobody,
}

/// Looks again and again while somebody watches.
async fn run(watching: Weak<Watching>, news: Arc<Notify>) {
    let (mut rest, mut pause) = (Duration::ZERO, POLL_INTERVAL);
    loop {
        tokio::time::sleep(rest).await;
        let _ = tokio::time::timeout(pause, news.notified()).await;
        let Some(watching) = watching.upgrade() else { return };
        let mut seen = watching.seen.lock().await;
        let begun = Instant::now();
        let polled = match &mut *seen {
            Some(seen) if !watching.hub.is_empty() => watching.poll(seen, Tell::All).await.is_ok(),
            _ => false,
        };
        if !polled {
            watching.hub.lose_all();
            *seen = None;
            return;
        }
        rest = begun.elapsed();
        pause = POLL_INTERVAL.max(rest * POLL_SHARE) - rest;
    }
}

impl Seen {
    fn is_new(&self, head: &Head) -> bool {
        let Some((known, _)) = self.known.get(&head.path) else { return true };
        // That it was damaged is news, too.
        *known < head.version || (head.version == Version::UNREADABLE && *known != head.version)
    }

    /// A look that began then saw everything up to what was lasting before it.
    fn looked_at(&mut self, begun: SystemTime, lasting: Option<SystemTime>) {
        self.looked = lasting.map_or(begun, |lasting| lasting.min(begun));
        let window = before(self.looked, WINDOW);
        self.known.retain(|_, (_, changed)| *changed >= window);
    }

    /// What was seen stays seen, whatever is shown later, as by another member that has become the primary.
    fn note(&mut self, records: impl IntoIterator<Item = Dated>) {
        for Dated { head, changed } in records {
            if self.is_new(&head) {
                self.known.insert(head.path, (head.version, changed));
            }
        }
    }
}

/// Looks for what was written from a time on.
fn written(from: Timestamp) -> Find {
    Find {
        filter: doc! { CHANGED: { "$gte": from } },
        fields: record::head_fields(),
        sort: doc! { CHANGED: 1 },
        limit: RECORDS_MAX,
        freshness: Freshness::Lasting,
    }
}

/// Looks for documents by their paths, also for those that were deleted since.
fn these(ids: &[&str]) -> Find {
    Find {
        filter: doc! { ID: { "$in": ids } },
        fields: doc! {},
        sort: doc! { ID: 1 },
        limit: ids.len(),
        freshness: Freshness::Lasting,
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::record::{DELETED, DOCUMENT, VERSION};
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_look_goes_on_from_what_was_lasting_however_long_that_stands_still() {
        let path = Path::new("a").unwrap();
        let changed = Timestamp { time: 99, increment: 1 };
        let known = [(path.clone(), (Version(1), changed))].into();
        let mut seen = Seen { clock: Clock::at(at(100)), looked: at(100), known };
        for begun in [101, 104, 130] {
            seen.looked_at(at(begun), Some(at(99)));
            assert_eq!(seen.looked, at(99));
        }
        assert!(seen.known.contains_key(&path), "it would be told once more");
        seen.looked_at(at(131), Some(at(200)));
        assert_eq!((seen.looked, seen.known.len()), (at(131), 0));
        seen.looked_at(at(132), None);
        assert_eq!(seen.looked, at(132));
    }

    #[test]
    fn what_was_told_is_not_told_again_in_an_earlier_state() {
        let dated = |version| {
            let head = Head { path: Path::new("a").unwrap(), version, is_deleted: false };
            Dated { head, changed: Timestamp { time: 99, increment: 1 } }
        };
        let mut seen = Seen { clock: Clock::at(at(100)), looked: at(100), known: BTreeMap::new() };
        // Its head was seen in one version, and its content in the next but one.
        seen.note([dated(Version(7)), dated(Version(9))]);
        // Another member shows less, for a moment.
        assert!(!seen.is_new(&dated(Version(8)).head));
        seen.note([dated(Version(8))]);
        assert!(!seen.is_new(&dated(Version(9)).head));
        assert!(seen.is_new(&dated(Version(10)).head));
        seen.note([dated(Version::UNREADABLE)]);
        assert!(seen.is_new(&dated(Version(9)).head), "it is mended");
    }

    #[test]
    fn what_is_read_must_be_as_new_as_what_was_seen() {
        let record = |version: i64| doc! { ID: "a", VERSION: version, DOCUMENT: {} };
        let seen = Head { path: Path::new("a").unwrap(), version: Version(3), is_deleted: false };
        let told = |records: &[Document]| told(&[&seen], records);
        assert!(told(&[record(2)]).unwrap_err().is_retryable());
        assert!(told(&[]).unwrap_err().is_retryable());
        for version in [3_u32, 4] {
            let Change::Put(entry) = &told(&[record(version.into())]).unwrap()[0] else {
                panic!("it is there")
            };
            assert_eq!(entry.version, Version(version.into()));
        }
        let deleted = doc! { ID: "a", VERSION: 4_i64, DELETED: mongodb::bson::DateTime::now() };
        assert_eq!(told(&[deleted]).unwrap(), [Change::Deleted(seen.path.clone())]);
        let damaged = doc! { ID: "a", VERSION: "none", DOCUMENT: {} };
        assert!(
            matches!(&told(&[damaged]).unwrap()[0], Change::Put(entry) if entry.version == Version::UNREADABLE)
        );
    }
}
