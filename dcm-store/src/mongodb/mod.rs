//! Documents in MongoDB: durable, shared by any number of hosts, and readable to whoever looks with `mongosh`.
//!
//! Each document is one record of one collection (its fields: [`record`]). Nothing is asked of the server but that it changes one
//! record in one step; neither transactions nor change streams are needed. A batch is one command, in order, and not atomic. A
//! deleted document leaves a record without content for a day ([`Location::deleted_kept`]), so that its versions go on.
//!
//! A watch looks every [`POLL_INTERVAL`] for what was written, by the server's own time: all watches of a store together ask
//! once. It ends as lost when the server can't be asked, or its clock was set back.

mod clock;
mod collection;
mod failure;
mod form;
mod location;
mod record;
mod server;
mod versions;
mod watching;
mod writing;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::port::room::Room;
use dcm_core::port::store::{
    BatchError, Capabilities, Entry, Error, Page, PageRequest, Path, Prefix, Store, Version, Watch, Write,
};
use mongodb::bson::{DateTime, Document, doc};
use tokio::time::Instant;

pub use self::location::Location;
use self::record::{DELETED, ID, VERSION};
pub use self::record::{INDEXES, Index};
use self::server::{Find, Freshness, Server};
pub use self::watching::POLL_INTERVAL;
use self::watching::Watching;
use crate::lock::lock;
use crate::rules;

/// How often what says that documents were deleted is looked through, while documents are deleted.
const CLEARING_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// Documents in MongoDB.
pub struct MongoDbStore {
    server: Arc<Server>,
    watching: Arc<Watching>,
    rooms: Vec<Room>,
    deleted_kept: Duration,
    cleared: Mutex<Option<Instant>>,
}

impl MongoDbStore {
    /// Opens it: sees that the server answers and does what is needed, and makes the collection's indexes.
    ///
    /// # Errors
    /// [`Error::Failed`] when the server refuses us or will not do, the location can't be used, or the collection is a view or has a
    /// collation, a validator, or what removes documents; [`Error::Unavailable`] when it
    /// does not answer; [`Error::Invalid`] for a location that breaks a rule.
    pub async fn open(location: &Location) -> Result<Self, Error> {
        location.check().map_err(|reason| Error::Invalid { reason })?;
        let server = Arc::new(Server::connect(location).await?);
        let watching = Arc::new(Watching::new(server.clone()));
        let (rooms, deleted_kept) = (location.rooms.clone(), location.deleted_kept);
        Ok(Self { server, watching, rooms, deleted_kept, cleared: Mutex::default() })
    }

    /// Removes what says that documents were deleted, when it is old enough. Nothing hangs on whether it succeeds.
    async fn clear(&self) {
        let now = Instant::now();
        {
            let mut cleared = lock(&self.cleared);
            if cleared.is_some_and(|last| now.duration_since(last) < CLEARING_INTERVAL.min(self.deleted_kept))
            {
                return;
            }
            *cleared = Some(now);
        }
        let Some(until) = self.server.now().checked_sub(self.deleted_kept) else { return };
        // A version can be ahead of the time.
        let version = versions::number(versions::of_time(until)).unwrap_or(0);
        let filter =
            doc! { DELETED: { "$lt": DateTime::from_system_time(until) }, VERSION: { "$lt": version } };
        let _ = self.server.remove(filter).await;
    }
}

#[async_trait]
impl Store for MongoDbStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities { atomic_batches: false, durable: true, shared: true, holds_secrets: false }
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        // By nothing but its name, which every server has an index of.
        let find = Find { filter: doc! { ID: path.as_str() }, ..live(doc! {}, 1) };
        let (records, _) = self.server.find(find).await?;
        Ok(records.iter().find(|record| !record.contains_key(DELETED)).and_then(record::entry))
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        let limit = rules::page_limit(page)?;
        // Texts alone: others are no names of ours.
        let mut ids = doc! { "$gte": prefix.as_str() };
        if let Some(folder) = prefix.as_str().strip_suffix('/') {
            // What follows a slash: `0`.
            ids.insert("$lt", format!("{folder}0"));
        }
        if let Some(after) = &page.after {
            ids.insert("$gt", after.as_str());
        }
        loop {
            let (records, is_more) = self.server.find(live(doc! { ID: ids.clone() }, limit)).await?;
            let entries: Vec<Entry> = records.iter().filter_map(record::entry).collect();
            match records.last().and_then(|last| last.get(ID)) {
                // What is here is none of ours.
                Some(last) if is_more && entries.is_empty() => ids.insert("$gt", last),
                _ => {
                    let next = entries.last().filter(|_| is_more).map(|last| last.path.clone());
                    return Ok(Page { entries, next });
                }
            };
        }
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        let refused = |source| BatchError { applied: 0, source };
        rules::check_batch(batch, false).map_err(refused)?;
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let written = writing::apply(&self.server, &self.rooms, batch).await;
        self.watching.look();
        if batch.iter().any(|write| matches!(write, Write::Delete { .. })) {
            self.clear().await;
        }
        written
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        self.watching.follow(prefix).await
    }
}

/// Looks for documents that are there, as they are now, in order.
fn live(mut filter: Document, limit: usize) -> Find {
    filter.insert(DELETED, doc! { "$exists": false });
    Find { filter, fields: doc! {}, sort: doc! { ID: 1 }, limit, freshness: Freshness::Latest }
}
