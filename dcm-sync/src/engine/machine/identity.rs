//! Which cluster a shard's name stands for. Another one than before is not touched until a person has accepted it.

use std::time::Duration;

use dcm_core::name::ClusterId;
use dcm_core::port::cluster::ClusterUid;
use dcm_core::port::store;
use dcm_core::status::{Cause, Reason};

use super::Machine;
use super::shard::{Link, Shard};
use crate::engine::Safeguard;
use crate::engine::event::What;
use crate::engine::io::{Identified, LaneId};
use crate::record;

/// How long to wait before looking again at a cluster that is another one than before: a person has to act.
const CHANGED_CLUSTER_WAIT: Duration = Duration::from_secs(60);

impl Machine {
    /// What a name is recorded to stand for; none while it was never reached.
    pub(in crate::engine) fn identity(&self, cluster: &ClusterId) -> Option<&ClusterUid> {
        self.shards.get(cluster)?.record.as_ref()?.0.identity.as_ref()
    }

    pub(super) fn identified(&mut self, cluster: &ClusterId, Identified { uid, first }: Identified) {
        let shard = self.shard_mut(cluster);
        let Some((record, _)) = &shard.record else { return };
        if let Some(known) = record.identity.clone().filter(|known| *known != uid) {
            return self.cluster_changed(cluster, &known, &uid);
        }
        match first {
            Ok(None) => {}
            Ok(Some(first)) if self.options.keeps(Safeguard::NamesCompared) => {
                return self.same_cluster(cluster, &first);
            }
            Ok(Some(_)) => {}
            Err(error) => return self.unclaimed(cluster, &error),
        }
        let now = self.now;
        self.searched.remove(cluster);
        let shard = self.shard_mut(cluster);
        shard.link = Link::Up;
        let is_reached_again = shard.told.replace(uid).is_some();
        shard.row.holds(now);
        self.schedule_trials(cluster, is_reached_again);
        self.note_identity(cluster);
        self.publish(cluster, None, What::Connected);
        self.open_watches(cluster, None);
        self.wake_lanes(cluster);
    }

    /// Stores what a cluster is that nobody had reached before. Where that fails, it is tried again.
    pub(super) fn note_identity(&mut self, cluster: &ClusterId) {
        let shard = self.shards.get(cluster).filter(|shard| self.owns(shard) && shard.saving.is_none());
        let Some(shard) = shard.filter(|shard| matches!(shard.link, Link::Up)) else { return };
        let record = shard.record.as_ref().filter(|(record, _)| record.identity.is_none());
        if let Some(((record, _), told)) = record.zip(shard.told.clone()) {
            let record = record::Shard { identity: Some(told), ..record.clone() };
            self.save_shard(cluster, record);
        }
    }

    fn cluster_changed(&mut self, cluster: &ClusterId, known: &ClusterUid, uid: &ClusterUid) {
        let message = "the cluster is another one than before";
        let detail = format!("{message}: it was {} and is {}", known.0, uid.0);
        let next_try = self.now + CHANGED_CLUSTER_WAIT;
        let cause = Cause { next_try: Some(next_try), ..Cause::new(Reason::ClusterChanged, message) };
        self.break_until(cluster, cause.detailed(detail), next_try);
    }

    /// The cluster is worked on under another name: nothing is done there under this one, or each would take the objects of
    /// the other.
    fn same_cluster(&mut self, cluster: &ClusterId, first: &ClusterId) {
        let message = format!("it is the cluster that is registered as {first}: unregister one of the two");
        let next_try = self.now + CHANGED_CLUSTER_WAIT;
        let cause = Cause { next_try: Some(next_try), ..Cause::new(Reason::SameCluster, message) };
        self.break_until(cluster, cause, next_try);
    }

    /// The store could not be asked whether the cluster is worked on under another name.
    fn unclaimed(&mut self, cluster: &ClusterId, error: &store::Error) {
        tracing::warn!(%cluster, error = error as &dyn std::error::Error, "can't claim a cluster's identity");
        let next_try = self.next_connect(cluster);
        let message = "the store can't be asked whether it is registered under another name";
        let cause = Cause { next_try: Some(next_try), ..Cause::new(Reason::Retrying, message) };
        self.break_until(cluster, cause, next_try);
    }

    /// A person has accepted another cluster under this name: what was known of the old one is nothing any more.
    pub(super) fn begin_anew(&mut self, cluster: &ClusterId) {
        // A connection that is open, or on its way, leads to the cluster before.
        self.disconnect(cluster, Link::Down);
        let Some(shard) = self.shards.get_mut(cluster) else { return };
        shard.lanes.values_mut().for_each(|lane| lane.reading.outdate());
        let contexts: Vec<_> = shard.lanes.keys().cloned().collect();
        if self.shards.get(cluster).is_some_and(|shard| self.owns(shard)) {
            for context in contexts {
                self.reload_lane(&LaneId { cluster: cluster.clone(), context });
            }
            self.connect(cluster);
        }
    }
}

impl Shard {
    /// True when the name stands for no cluster any more in a record: it is registered no more.
    pub(super) fn is_given_up(&self, record: Option<&record::Shard>) -> bool {
        let known = self.record.as_ref().and_then(|(record, _)| record.identity.as_ref());
        known.is_some() && record.is_some_and(|record| record.identity.is_none())
    }

    /// True when the name stands for another cluster in a record than in the one that is known.
    pub(super) fn stands_for_another(&self, record: Option<&record::Shard>) -> bool {
        let known = self.record.as_ref().and_then(|(record, _)| record.identity.as_ref());
        let told = record.and_then(|record| record.identity.as_ref());
        known.is_some() && told.is_some() && known != told
    }
}
