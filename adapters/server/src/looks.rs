//! How many look at clusters at once, over all that is asked of a process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use dcm_core::name::ClusterId;
use dcm_sync::planning::Turns;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many looks at clusters there are in one moment: four of the largest plans ([`LOOKS_AT_ONCE_MAX`](dcm_sync::planning::LOOKS_AT_ONCE_MAX)).
const LOOKS_MAX: usize = 512;

/// How many of them are at one cluster: one that hangs keeps no more from the others.
const LOOKS_OF_EACH_MAX: usize = 8;

/// The turns of a process.
pub(crate) struct Looks {
    all: Arc<Semaphore>,
    of_each: Arc<OfEach>,
}

/// The turns of the clusters that somebody looks at, or waits to.
#[derive(Default)]
struct OfEach(Mutex<BTreeMap<ClusterId, OfCluster>>);

struct OfCluster {
    turns: Arc<Semaphore>,
    /// How many look at it, or wait to.
    places: usize,
}

/// Somebody looks at a cluster, or waits to.
struct Place {
    cluster: ClusterId,
    of_each: Arc<OfEach>,
}

/// A turn; given back when it is dropped.
struct Turn {
    _all: OwnedSemaphorePermit,
    _of_cluster: OwnedSemaphorePermit,
    _place: Place,
}

impl Looks {
    pub(crate) fn new() -> Self {
        Self { all: Arc::new(Semaphore::new(LOOKS_MAX)), of_each: Arc::default() }
    }
}

#[async_trait]
impl Turns for Looks {
    /// Waits among those of the cluster before it waits among all.
    async fn begin(&self, cluster: &ClusterId) -> Box<dyn Send> {
        let (place, turns) = OfEach::place(&self.of_each, cluster);
        let closed = "nobody closes it";
        let of_cluster = turns.acquire_owned().await.expect(closed);
        let all = self.all.clone().acquire_owned().await.expect(closed);
        Box::new(Turn { _all: all, _of_cluster: of_cluster, _place: place })
    }
}

impl OfEach {
    fn place(self: &Arc<Self>, cluster: &ClusterId) -> (Place, Arc<Semaphore>) {
        let mut clusters = self.clusters();
        let of_cluster = clusters
            .entry(cluster.clone())
            .or_insert_with(|| OfCluster { turns: Arc::new(Semaphore::new(LOOKS_OF_EACH_MAX)), places: 0 });
        of_cluster.places += 1;
        (Place { cluster: cluster.clone(), of_each: self.clone() }, of_cluster.turns.clone())
    }

    fn clusters(&self) -> MutexGuard<'_, BTreeMap<ClusterId, OfCluster>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut clusters = self.of_each.clusters();
        let Some(of_cluster) = clusters.get_mut(&self.cluster) else { return };
        of_cluster.places -= 1;
        if of_cluster.places == 0 {
            clusters.remove(&self.cluster);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn cluster(number: usize) -> ClusterId {
        format!("p/c{number}").parse().unwrap()
    }

    async fn is_free(looks: &Looks, cluster: &ClusterId) -> bool {
        tokio::time::timeout(Duration::from_secs(1), looks.begin(cluster)).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn one_cluster_takes_a_share_of_the_turns_and_all_have_a_limit() {
        let looks = Looks::new();
        let (first, another) = (cluster(0), cluster(LOOKS_MAX));
        let mut turns = Vec::new();
        for number in 0..LOOKS_MAX {
            turns.push(looks.begin(&cluster(number / LOOKS_OF_EACH_MAX)).await);
        }
        assert!(!is_free(&looks, &another).await);
        turns.truncate(LOOKS_MAX - LOOKS_OF_EACH_MAX);
        assert!(!is_free(&looks, &first).await && is_free(&looks, &another).await);
        let (turn, ()) = tokio::join!(looks.begin(&first), async { drop(turns.remove(0)) });
        drop((turn, turns));
        assert!(looks.of_each.clusters().is_empty());
    }
}
