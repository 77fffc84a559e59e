//! Sharing the clusters among the workers that serve a store.
//!
//! Nobody leads. Every worker sees from the same records how many clusters each of them has, and from that what its own share is:
//! all have the same number, give or take one, and the odd ones are for those that have more already, so that as few as
//! can be move. A worker with less than its share takes free clusters. One with more gives some back, a few at a time:
//! so few clusters are nobody's until the next worker has reached them. What nobody takes for a while is taken by
//! whoever sees it, share or not, since a worker that has just died counts until its session ends.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use dcm_core::name::ClusterId;

use super::Machine;
use super::shard::Shard;
use super::tidying::LEAVE_LIMIT;
use super::timers::Alarm;
use crate::engine::Safeguard;
use crate::engine::options::Acquire;
use crate::record::WorkerId;

/// How many clusters are on their way to other workers at a time.
const HANDOVERS_MAX: usize = 64;

/// How long a free cluster is left to those who have less than their share.
pub(super) const FREE_LIMIT: Duration = Duration::from_secs(2);

/// Whose the clusters are that have lanes: by their records, and by what our writes under way make of these.
#[derive(Default)]
pub(super) struct Holdings {
    owners: BTreeMap<ClusterId, Option<WorkerId>>,
    counts: BTreeMap<WorkerId, usize>,
    free: BTreeSet<ClusterId>,
    /// Something has changed since shares were looked at last.
    pub(super) changed: bool,
}

impl Holdings {
    /// Notes a cluster's owner; none at all for a cluster without lanes.
    pub(super) fn note(&mut self, cluster: &ClusterId, owner: Option<Option<WorkerId>>) {
        if self.owners.get(cluster) == owner.as_ref() {
            return;
        }
        self.changed = true;
        self.free.remove(cluster);
        match &owner {
            Some(Some(owner)) => *self.counts.entry(owner.clone()).or_default() += 1,
            Some(None) => drop(self.free.insert(cluster.clone())),
            None => {}
        }
        let before = match owner {
            Some(owner) => self.owners.insert(cluster.clone(), owner),
            None => self.owners.remove(cluster),
        };
        let Some(before) = before.flatten() else { return };
        if let Some(count) = self.counts.get_mut(&before) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&before);
            }
        }
    }

    fn count(&self, worker: &WorkerId) -> usize {
        self.counts.get(worker).copied().unwrap_or_default()
    }

    /// How many clusters one worker is to have, with others.
    fn share<'w>(&self, worker: &WorkerId, others: impl Iterator<Item = &'w WorkerId>) -> usize {
        let place = |worker| (Reverse(self.count(worker)), worker);
        let (mut workers, mut before) = (1, 0);
        for other in others {
            workers += 1;
            before += usize::from(place(other) < place(worker));
        }
        let clusters = self.owners.len();
        clusters / workers + usize::from(before < clusters % workers)
    }
}

impl Machine {
    /// Notes whose a cluster is.
    pub(super) fn note_holding(&mut self, cluster: &ClusterId) {
        let shard = self.shards.get(cluster).filter(|shard| !shard.lanes.is_empty());
        let owner = shard.map(|shard| {
            let record = shard.record.as_ref().map(|(record, _)| record);
            shard.saving.as_deref().or(record).and_then(|record| record.owner.clone())
        });
        // It is ours still, or nobody's yet.
        let is_on_its_way =
            matches!(&owner, Some(owner) if owner.as_ref().is_none_or(|owner| *owner == self.session.worker));
        if !is_on_its_way {
            self.leaving.remove(cluster);
        }
        self.holdings.note(cluster, owner);
    }

    /// How many clusters this worker has, and how many it is to have.
    fn holding_and_share(&self) -> (usize, usize) {
        let worker = &self.session.worker;
        (self.holdings.count(worker), self.holdings.share(worker, self.session.serving()))
    }

    /// True when this worker has its share of the clusters.
    pub(super) fn has_its_share(&self) -> bool {
        let (holding, share) = self.holding_and_share();
        self.options.acquire == Acquire::All && holding >= share
    }

    /// Clusters in the order in which this worker takes them: each begins at another place, so that workers that take
    /// clusters at the same time seldom want the same ones.
    pub(super) fn in_own_order(&self, mut clusters: Vec<ClusterId>) -> Vec<ClusterId> {
        let workers = 1 + self.session.serving().count();
        let before = self.session.serving().filter(|worker| **worker < self.session.worker).count();
        let first = clusters.len() * before / workers;
        clusters.rotate_left(first);
        clusters
    }

    /// Takes free clusters up to this worker's share, or begins to give back what is more, after something has changed.
    pub(super) fn share_out(&mut self) {
        let serves = self.options.acquire == Acquire::All && self.stopping.is_none();
        let serves = serves && self.options.keeps(Safeguard::SharedEvenly);
        // What has changed is looked at once the session is valid again.
        if !serves || !self.session_is_valid() || !std::mem::take(&mut self.holdings.changed) {
            return;
        }
        let (holding, share) = self.holding_and_share();
        if holding < share {
            let free = self.holdings.free.iter().cloned().collect();
            let free = self.in_own_order(free).into_iter().take(share - holding);
            free.for_each(|cluster| self.claim(&cluster));
        }
        self.give_back_excess(holding.saturating_sub(share));
    }

    /// Begins to give back what is more than this worker's share, and keeps what is no longer too much.
    fn give_back_excess(&mut self, excess: usize) {
        let leaving = self.leaving.keys().filter(|cluster| self.keeps(cluster));
        let leaving: Vec<ClusterId> = leaving.cloned().collect();
        for cluster in leaving.iter().skip(excess) {
            self.leaving.remove(cluster);
            self.wake_lanes(cluster);
        }
        // Not one by one: choosing looks at all clusters.
        if excess > leaving.len() && self.leaving.len() <= HANDOVERS_MAX / 2 {
            let more = (excess - leaving.len()).min(HANDOVERS_MAX - self.leaving.len());
            self.hand_over(more);
        }
    }

    /// True for a cluster that is ours, and that we have not begun to give back.
    fn keeps(&self, cluster: &ClusterId) -> bool {
        let is_kept = |shard: &Shard| shard.saving.is_none() && !shard.giving_back;
        self.shards.get(cluster).is_some_and(|shard| self.owns(shard) && is_kept(shard))
    }

    /// Begins to give so many clusters back: first those where nothing is under way.
    fn hand_over(&mut self, count: usize) {
        let now = self.now;
        let held = self.held.iter().filter(|cluster| self.keeps(cluster));
        let held = held.filter(|cluster| !self.leaving.contains_key(*cluster));
        let held = held.filter_map(|cluster| Some((cluster, self.shards.get(cluster)?)));
        let mut held: Vec<_> = held.filter(|(_, shard)| shard.kept_until <= now).collect();
        held.sort_by_key(|(_, shard)| shard.requests > 0);
        let chosen: Vec<ClusterId> =
            held.into_iter().take(count).map(|(cluster, _)| cluster.clone()).collect();
        if chosen.len() < count {
            // The others are kept for a while, or their records are being written.
            self.timers.set(now + self.options.retry_min, Alarm::Share);
        }
        let until = now + LEAVE_LIMIT;
        for cluster in chosen {
            self.leaving.insert(cluster.clone(), until);
            self.timers.set(until, Alarm::Claim(cluster.clone()));
            self.release_if_idle(&cluster);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(number: u64) -> WorkerId {
        WorkerId::from_random(number)
    }

    /// The shares of workers that have so many clusters, while some are free.
    fn shares(counts: &[usize], free: usize) -> Vec<usize> {
        let mut holdings = Holdings::default();
        let owners = (0..).zip(counts).flat_map(|(number, count)| vec![Some(worker(number)); *count]);
        for (number, owner) in (0..).zip(owners.chain(vec![None; free])) {
            let cluster = ClusterId::new("p", format!("c{number}")).unwrap();
            holdings.note(&cluster, Some(owner));
        }
        let workers: Vec<WorkerId> = (0..).zip(counts).map(|(number, _)| worker(number)).collect();
        let of = |one: &WorkerId| holdings.share(one, workers.iter().filter(|other| *other != one));
        workers.iter().map(of).collect()
    }

    #[test]
    fn shares_are_even_make_the_whole_and_move_as_few_as_can_be() {
        assert_eq!(shares(&[0, 0, 0], 3), [1, 1, 1]);
        assert_eq!(shares(&[3, 0], 0), [2, 1]);
        assert_eq!(shares(&[0, 3], 0), [1, 2]);
        assert_eq!(shares(&[2, 2, 1], 0), [2, 2, 1]);
        assert_eq!(shares(&[1, 2, 2], 0), [1, 2, 2]);
        assert_eq!(shares(&[7, 0, 0], 0), [3, 2, 2]);
        assert_eq!(shares(&[3, 3, 3, 0], 0), [3, 2, 2, 2]);
        assert_eq!(shares(&[0], 5), [5]);
        assert_eq!(shares(&[1, 0], 0), [1, 0]);
        for counts in [[0, 5, 2, 9], [1, 1, 1, 1], [40, 0, 0, 3]] {
            let total = counts.iter().sum::<usize>() + 3;
            assert_eq!(shares(&counts, 3).iter().sum::<usize>(), total);
        }
    }

    #[test]
    fn what_is_noted_again_changes_nothing_and_what_goes_is_not_counted() {
        let cluster = ClusterId::new("p", "c").unwrap();
        let mut holdings = Holdings::default();
        holdings.note(&cluster, Some(Some(worker(1))));
        assert!(std::mem::take(&mut holdings.changed));
        holdings.note(&cluster, Some(Some(worker(1))));
        assert!(!holdings.changed && holdings.count(&worker(1)) == 1);
        holdings.note(&cluster, Some(Some(worker(2))));
        assert_eq!((holdings.count(&worker(1)), holdings.count(&worker(2))), (0, 1));
        holdings.note(&cluster, Some(None));
        assert_eq!(holdings.share(&worker(1), [].into_iter()), 1);
        holdings.note(&cluster, None);
        assert_eq!(holdings.share(&worker(1), [].into_iter()), 0);
        assert!(holdings.counts.is_empty() && holdings.changed);
    }
}
