//! Removing what nothing names any more.
//!
//! What edit or apply number *n* left behind is only removed when number *n* is committed: then nobody can commit
//! it any more, and a later one writes under its own number. So late work here never takes away what somebody is about
//! to name.

use std::collections::BTreeSet;

use crate::port::store::{Entry, Store, StoreExt};

use super::documents::{Contents, DocumentId, Root};
use super::error::Error;
use super::load::Parts;
use super::path::{self, Place};
use super::writing;

/// Removes unused parts among those that were listed. `named` are the parts that the root's last edit names.
pub(super) async fn parts(
    store: &dyn Store,
    parts: &Parts,
    root: &Root,
    named: &Contents,
) -> Result<(), Error> {
    let mut used: BTreeSet<DocumentId> = named.parts.iter().cloned().collect();
    for contents in root.used_contents() {
        used.insert(contents.clone());
        if *contents != root.contents {
            used.extend(parts.contents(contents)?.parts);
        }
    }
    let unused = parts.entries().filter(|(id, _)| id.number() <= root.edit && !used.contains(*id));
    writing::delete(store, unused.map(|(_, entry)| entry)).await?;
    Ok(())
}

/// Removes snapshots that are not wanted on clusters any more.
pub(super) async fn snapshots(store: &dyn Store, place: &Place, root: &Root) -> Result<(), Error> {
    let used: BTreeSet<&DocumentId> = root.used_snapshots().map(|snapshot| &snapshot.id).collect();
    let unused = |entry: &Entry| {
        path::id_of(&entry.path).is_some_and(|id| id.number() <= root.snapshots && !used.contains(&id))
    };
    let entries = store.list_all(&place.snapshots()).await?;
    writing::delete(store, entries.iter().filter(|entry| unused(entry))).await?;
    Ok(())
}

/// Removes everything that lies below a cloud's UID, and that its app context was its own.
pub(super) async fn everything(store: &dyn Store, place: &Place) -> Result<(), Error> {
    let keys = [place.credentials(), place.cluster_authorities()];
    for prefix in keys.into_iter().chain([place.all_handed_out(), place.snapshots(), place.parts()]) {
        writing::delete_below(store, &prefix).await?;
    }
    // The context's id follows from the UID, so no other logical cloud has it.
    for path in [place.root_authority(), path::context_owner(&place.context_id())] {
        let found = store.get(&path).await?;
        writing::delete(store, found.iter()).await?;
    }
    Ok(())
}
