//! What is left on clusters that were abandoned.

use std::collections::BTreeSet;

use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::store::{Entry, StoreExt as _};
use dcm_core::port::synchronizer::{Error, Tombstone};
use dcm_core::status::LaneState;

use super::changing::{CONTENTION_TRIES, contended};
use super::writing::Deleted;
use super::{Contexts, claims, deletion};
use crate::record::{self, Lane, path};

impl Contexts {
    /// The clusters on which a context is abandoned.
    pub(super) async fn tombstones_of(&self, id: &ContextId) -> Result<BTreeSet<ClusterId>, Error> {
        let mut clusters = BTreeSet::new();
        for entry in self.store.list_all(&path::lanes(id)).await? {
            let lane: Lane = record::read(&entry)?;
            if lane.state == LaneState::Abandoned {
                clusters.extend(path::cluster_of(&entry.path));
            }
        }
        Ok(clusters)
    }

    pub(super) async fn tombstones_on(&self, cluster: &ClusterId) -> Result<Vec<Tombstone>, Error> {
        let found = self.abandoned_on(cluster).await?;
        Ok(found.into_iter().map(|(context, lane, _)| tombstone(context, cluster.clone(), lane)).collect())
    }

    /// The claims go first: should this process die then, the lane is found, and dropped, again.
    pub(super) async fn drop_tombstones_on(&self, cluster: &ClusterId) -> Result<(), Error> {
        for _ in 0..CONTENTION_TRIES {
            let mut is_left = false;
            for (context, lane, entry) in self.abandoned_on(cluster).await? {
                let mut deletions = self.own_claims(&context, &claims::of_lane(cluster, &lane)).await?;
                deletions.push(deletion(&entry));
                // A worker may have written it meanwhile.
                is_left |= self.delete_all(deletions).await? == Deleted::Changed;
                self.bury(&context).await?;
            }
            if !is_left {
                return Ok(());
            }
        }
        Err(contended(&path::shard(cluster)))
    }

    /// Lanes of all contexts are looked through: the question is rare, and an index would cost a write for each lane.
    async fn abandoned_on(&self, cluster: &ClusterId) -> Result<Vec<(ContextId, Lane, Entry)>, Error> {
        let mut found = Vec::new();
        for entry in self.store.list_all(&path::all_lanes()).await? {
            let Some(context) = path::context_of_lane(&entry.path) else { continue };
            if path::cluster_of(&entry.path).as_ref() == Some(cluster) {
                let lane: Lane = record::read(&entry)?;
                found.extend((lane.state == LaneState::Abandoned).then_some((context, lane, entry)));
            }
        }
        Ok(found)
    }
}

fn tombstone(context: ContextId, cluster: ClusterId, lane: Lane) -> Tombstone {
    let cause = lane.causes.into_iter().next();
    let edited = lane.edits.iter().map(|edited| edited.target.key());
    let objects = lane.objects.into_keys().chain(edited).collect();
    Tombstone { context, cluster, since: lane.since, cause, objects }
}
