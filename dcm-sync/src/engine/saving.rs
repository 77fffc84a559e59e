//! Storing what the machine wants stored.

use std::collections::BTreeSet;

use dcm_core::port::in_order::{Conflict, InOrder};
use dcm_core::port::store::{self, Document, Entry, Store, StoreExt, Version, Write};
use dcm_core::status::LaneState;

use super::io::{SaveLane, SavedLane};
use crate::record::{self, Claim, path};

/// Stores a lane's record: before it the results that it names, after it those go that it drops.
///
/// A result that is there already comes from a worker that died between the two writes: it is replaced. Claims on what
/// the lane gave up go first: should this worker die then, the next one finds the record as it was, and does it again.
/// Results go last: a worker that lost the lane, and does not know it, fails at the record, and takes nothing away.
pub(super) async fn save_lane(store: &dyn Store, save: &SaveLane) -> Result<SavedLane, store::Error> {
    drop_claims(store, save).await?;
    let mut writes = Vec::with_capacity(save.outcomes.len() + 1);
    for outcome in &save.outcomes {
        let path = path::result(&save.id.context, &save.id.cluster, &outcome.name);
        writes.push(Write::Create { path, document: Document::from_value(outcome)? });
    }
    writes.push(lane_write(save)?);
    let mut writes = InOrder::new(writes);
    while let Some(conflict) = writes.go_on(store).await? {
        match replacement(save, &conflict) {
            Some(write) => writes.instead(&conflict, write),
            None => return Err(conflict.into_error()),
        }
    }
    let version = writes.last_version().unwrap_or(Version(0));
    Ok(SavedLane { version, dropped: drop_results(store, save, version).await })
}

/// Deletes the results of requests that are desired no more, and those that are good no more. Of a lane that is removed that is all there are: also those
/// of a worker that died before it stored the record that names them.
///
/// By the time they are read the context may be forgotten and made anew. They go only if the record is still the one that
/// was stored after they are read: until then nobody has stored others.
async fn drop_results(store: &dyn Store, save: &SaveLane, stored: Version) -> Result<(), store::Error> {
    let (context, cluster, lane) = (&save.id.context, &save.id.cluster, &save.lane);
    let is_removed = lane.state == LaneState::Removed;
    let dropping = lane.dropping.iter().filter(|_| lane.drops_results());
    let dropped: BTreeSet<_> =
        dropping.chain(&lane.lapsed).map(|name| path::result(context, cluster, name)).collect();
    if !is_removed && dropped.is_empty() {
        return Ok(());
    }
    let mut outdated = store.list_all(&path::results_on(context, cluster)).await?;
    outdated.retain(|entry| is_removed || dropped.contains(&entry.path));
    if outdated.is_empty() || !is_stored(store, save, stored).await? {
        return Ok(());
    }
    let deletions = outdated.into_iter().map(|Entry { path, version, .. }| Write::Delete { path, version });
    let mut deletions = InOrder::new(deletions.collect());
    // Whoever changed one deletes it, or has.
    while deletions.go_on(store).await?.is_some() {}
    Ok(())
}

/// True while a lane's record has this version.
async fn is_stored(store: &dyn Store, save: &SaveLane, version: Version) -> Result<bool, store::Error> {
    let found = store.get(&path::lane(&save.id.context, &save.id.cluster)).await?;
    Ok(found.is_some_and(|found| found.version == version))
}

/// What is written instead of a result that is there; none for the lane's record, which somebody else wrote.
fn replacement(save: &SaveLane, conflict: &Conflict) -> Option<Write> {
    match &conflict.write {
        Write::Create { path, document } | Write::Update { path, document, .. }
            if *path != path::lane(&save.id.context, &save.id.cluster) =>
        {
            Some(Write::Update { path: path.clone(), version: conflict.found?, document: document.clone() })
        }
        _ => None,
    }
}

fn lane_write(save: &SaveLane) -> Result<Write, store::Error> {
    let path = path::lane(&save.id.context, &save.id.cluster);
    let document = Document::from_value(&save.lane.to_store())?;
    Ok(match save.version {
        Some(version) => Write::Update { path, version, document },
        None => Write::Create { path, document },
    })
}

/// Drops the context's claims on namespaces of this cluster that it needs no more.
///
/// An apply that needs one again writes its claim anew, for its own generation, before the root. So a claim of a later
/// generation stays, and one that is written after it was read is another one than was read.
async fn drop_claims(store: &dyn Store, save: &SaveLane) -> Result<(), store::Error> {
    let mut claims = Vec::new();
    for namespace in &save.given_up {
        if let Some(entry) = store.get(&path::claim(&save.id.cluster, namespace)).await? {
            let claim: Claim = record::read(&entry)?;
            let is_outdated = claim.context == save.id.context && claim.generation <= save.lane.generation;
            claims.extend(is_outdated.then_some(entry));
        }
    }
    for claim in claims {
        match store.write_one(Write::Delete { path: claim.path, version: claim.version }).await {
            Ok(_) | Err(store::Error::Conflict { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
