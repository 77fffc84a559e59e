//! Clearing what came late of logical clouds that were deleted.
//!
//! Who applies or edits a cloud may stand still, or die, in the middle of it, while somebody else deletes the cloud: documents of
//! it, keys among them, and its app context may come after all was cleared. Each deletion is remembered, and what came of the app
//! context is removed; once nothing of the cloud can come any more, all of it is cleared again, and the deletion forgotten.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use crate::port::store::{self, Document, Entry, Path, Store, StoreExt as _, Write};
use crate::port::synchronizer::Removal;

use super::clean;
use super::documents::{Deleted, SCHEMA, read};
use super::error::Error;
use super::logical_clouds::LogicalClouds;
use super::path::{self, Place};
use super::writing;

/// For how long after a deletion something of the cloud may still come.
pub const LATE_LIMIT: Duration = Duration::from_secs(300);

/// The same where nobody has waited for it, and the clocks of others are all that there is to go by.
const LATE_FOR_OTHERS: Duration = Duration::from_secs(24 * 3600);

/// How often to sweep. What comes late keeps its namespace from others until the second sweep after its deletion; a sweep of
/// nothing costs one list.
pub const SWEEP_INTERVAL: Duration = Duration::from_secs(30);

/// Which deletions somebody knows of who sweeps again and again, and since when by their own clock.
#[derive(Debug, Default)]
pub struct SweepAgenda {
    seen: BTreeMap<Path, Timestamp>,
}

impl LogicalClouds {
    /// Clears what came late of logical clouds that were deleted: app contexts of deletions that were known in the round before,
    /// and all else when a deletion is known for [`LATE_LIMIT`] or longer. To be called every [`SWEEP_INTERVAL`] with the same
    /// agenda.
    ///
    /// # Errors
    /// Errors of the store and the synchronizer, the first one; the others are swept all the same, and the next call goes on.
    pub async fn sweep(&self, agenda: &mut SweepAgenda) -> Result<(), Error> {
        let entries = self.documents.list_all(&path::all_deleted()).await?;
        let now = self.clock.now();
        let known = std::mem::take(&mut agenda.seen);
        let since = |path: &Path| known.get(path).copied().unwrap_or(now);
        agenda.seen = entries.iter().map(|entry| (entry.path.clone(), since(&entry.path))).collect();
        let mut swept = Ok(());
        for entry in entries {
            match self.sweep_one(&entry, known.get(&entry.path).copied(), now).await {
                Ok(is_over) if is_over => drop(agenda.seen.remove(&entry.path)),
                Ok(_) => {}
                Err(error) => swept = swept.and(Err(error)),
            }
        }
        swept
    }

    /// Sweeps what came late of one deletion, which was known since then; true when nothing can come any more.
    async fn sweep_one(
        &self,
        entry: &Entry,
        known: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let deleted: Deleted = read(entry)?;
        let is_over = now >= known.unwrap_or(now) + LATE_LIMIT || now >= deleted.at + LATE_FOR_OTHERS;
        // Whoever deletes it may not be done with it the first time that it is seen.
        if !is_over && known.is_none() {
            return Ok(false);
        }
        let place = Place { project: deleted.project, cloud: deleted.cloud, uid: deleted.uid };
        // Soon, and again: until then it keeps others from its namespace.
        let discarded = self.synchronizer.discard(&place.context_id(), Removal::default()).await;
        discarded.map_err(Error::Synchronizer)?;
        if is_over {
            clean::everything(&*self.documents, &place).await?;
            writing::delete(&*self.documents, [entry]).await?;
        }
        Ok(is_over)
    }
}

/// Remembers that a cloud is deleted.
pub(super) async fn remember(store: &dyn Store, place: &Place, now: Timestamp) -> Result<(), Error> {
    let Place { project, cloud, uid } = place.clone();
    let document = Document::from_value(&Deleted { schema: SCHEMA, project, cloud, uid, at: now })?;
    match store.write_one(Write::Create { path: place.deleted(), document }).await {
        // Whoever began to delete it has remembered it.
        Ok(_) | Err(store::Error::Conflict { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
