//! The audit log as documents of a store.
//!
//! The halves of an entry are `audit/DAY/TIME-RANDOM/asked` and `…/ended`. The time has nanoseconds in a fixed width, so that
//! paths sort by it; both halves have that of the asking, so that they lie side by side. Each is created and never
//! updated: where a name is taken already, another one is drawn.

mod keep;
mod page;

use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::check::{self, Rule, Survey, Suspicion};
use crate::port::audit::{AuditLog, Decision, Ending, EntryId};
use crate::port::clock::Random;
use crate::port::in_order::InOrder;
use crate::port::room::Room;
use crate::port::schema::{self, ReadError};
use crate::port::store::{
    self, Document, Entry, PageRequest, Path, Prefix, Store, StoreExt as _, Version, Write,
};

pub use keep::{AuditedError, Told, kept};
pub use page::{Entries, EntryName, InvalidEntryName, LOOKED_THROUGH_MAX};

type Schema = schema::Schema<1>;

/// How often another name is drawn. Two of 64 random bits in one nanosecond are never the same by chance.
const NAMES_MAX: usize = 4;

const ASKED: &str = "asked";
const ENDED: &str = "ended";

/// Where the audit log lies.
pub const ROOM: Room = Room {
    name: "audit",
    keys: &["day", "entry", "half"],
    holds: "what somebody decided (`asked`), or what came of it (`ended`)",
};

/// A half, as it is stored.
#[derive(Serialize, Deserialize)]
struct Stored<T> {
    schema: Schema,
    #[serde(flatten)]
    half: T,
}

/// An entry as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "AuditEntry"))]
#[serde(rename_all = "camelCase")]
pub struct Recorded {
    /// What was asked for.
    pub asked: Decision,
    /// What came of it; none when the call was cut off, or is under way: it may have been done, in part or whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ending>,
}

/// The audit log in a store. Cheap to clone.
#[derive(Clone)]
pub struct StoredAudit {
    store: Arc<dyn Store>,
    random: Arc<dyn Random>,
}

impl StoredAudit {
    /// A log in a store, which may be that of the documents.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, random: Arc<dyn Random>) -> Self {
        Self { store, random }
    }

    /// Deletes what was asked for before a time, by whole days: what is left is never half a day. Gives how many documents
    /// went. Where nothing is that old, it reads one page.
    ///
    /// # Errors
    /// Those of the store. What is not deleted then is deleted by the next call.
    pub async fn delete_before(&self, time: Timestamp) -> Result<usize, store::Error> {
        let first_kept = format!("audit/{}/", day(time));
        let is_old = |entry: &&Entry| entry.path.as_str() < first_kept.as_str();
        let mut deleted = 0;
        loop {
            let page = self.store.list(&all(), &PageRequest::default()).await?;
            let old: Vec<&Entry> = page.entries.iter().take_while(is_old).collect();
            let is_last = old.len() < page.entries.len() || page.next.is_none();
            deleted += old.len();
            delete(&*self.store, &old).await?;
            if is_last {
                return Ok(deleted);
            }
        }
    }

    /// The time before which nothing is kept, when entries are kept for so many days.
    #[must_use]
    pub fn horizon(now: Timestamp, days: u16) -> Timestamp {
        now.checked_sub(SignedDuration::from_hours(24 * i64::from(days))).unwrap_or(Timestamp::MIN)
    }

    async fn create<T: Serialize + Sync>(&self, path: Path, half: &T) -> Result<(), store::Error> {
        let document = Document::from_value(&Stored { schema: schema::Schema, half })?;
        self.store.write_one(Write::Create { path, document }).await.map(drop)
    }
}

#[async_trait]
impl AuditLog for StoredAudit {
    async fn begin(&self, decision: &Decision) -> Result<EntryId, store::Error> {
        let mut tries = NAMES_MAX;
        loop {
            let id = EntryName::new(decision.at, self.random.next()).path();
            tries -= 1;
            match self.create(half(&id, ASKED), decision).await {
                Err(store::Error::Conflict { .. }) if tries > 0 => {}
                created => return created.map(|()| EntryId::at(id)),
            }
        }
    }

    async fn end(&self, entry: &EntryId, ending: &Ending) -> Result<(), store::Error> {
        self.create(half(entry.path(), ENDED), ending).await
    }
}

/// Looks through the audit log.
#[derive(Default)]
pub struct AuditSurvey {
    suspicions: Vec<Suspicion>,
}

impl Survey for AuditSurvey {
    fn rooms(&self) -> &'static [Room] {
        &[ROOM]
    }

    fn take(&mut self, entry: &Entry) {
        let taken = match ROOM.key(&entry.path, "half") {
            Some(ASKED) => check::read(entry, half_of::<Decision>).map(drop),
            Some(ENDED) => check::read(entry, half_of::<Ending>).map(drop),
            _ => {
                let what = "it is neither half of an entry";
                Err(Box::new(Suspicion::new(&entry.path, entry.version, Rule::UnknownPath, what)))
            }
        };
        self.suspicions.extend(taken.err().map(|suspicion| *suspicion));
    }

    fn take_unread(&mut self, _: &Path, _: Version) {}

    fn suspicions(&mut self) -> Vec<Suspicion> {
        std::mem::take(&mut self.suspicions)
    }
}

/// Deletes documents as they were read; what somebody else deleted meanwhile is passed over.
async fn delete(store: &dyn Store, entries: &[&Entry]) -> Result<(), store::Error> {
    let delete = |entry: &&Entry| Write::Delete { path: entry.path.clone(), version: entry.version };
    let mut writes = InOrder::new(entries.iter().map(delete).collect());
    while writes.go_on(store).await?.is_some() {}
    Ok(())
}

fn half_of<T: DeserializeOwned>(entry: &Entry) -> Result<T, ReadError> {
    Schema::read::<Stored<T>>(entry).map(|stored| stored.half)
}

fn day(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}

/// The beginning of the names of all entries of a moment.
fn moment(time: Timestamp) -> String {
    time.strftime("%Y%m%dT%H%M%S.%9fZ").to_string()
}

fn all() -> Prefix {
    ROOM.below(&[])
}

fn path(name: &str) -> Path {
    ROOM.at(&[name])
}

fn half(id: &Path, half: &str) -> Path {
    let text = format!("{id}/{half}");
    Path::new(&text).unwrap_or_else(|_| unreachable!("a path of ours goes on below: {text:?}"))
}
