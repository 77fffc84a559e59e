//! How many look at clusters at once, over all that is asked of a process.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::name::ClusterId;
use dcm_core::port::clock::Clock;
use dcm_core::port::cluster::Error;
use dcm_sync::planning::Turns;
use futures::future::{self, Either};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many clusters are looked at in one moment: four of the largest plans ([`LOOKS_AT_ONCE_MAX`](dcm_sync::planning::LOOKS_AT_ONCE_MAX)).
const LOOKS_MAX: usize = 512;

/// How many look at one cluster in one moment: one that hangs keeps no more of the turns from the others.
const LOOKS_OF_EACH_MAX: usize = 8;

/// How long a look waits for its turn; then the cluster counts as one that does not answer.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// The turns of a process.
pub(crate) struct Looks {
    all: Arc<Semaphore>,
    of_each: Arc<OfEach>,
    clock: Arc<dyn Clock>,
}

/// The turns of the clusters that somebody looks at, or waits to.
#[derive(Default)]
struct OfEach(Mutex<BTreeMap<ClusterId, Arc<Semaphore>>>);

/// Somebody looks at a cluster, or waits to.
struct Place {
    cluster: ClusterId,
    turns: Arc<Semaphore>,
    of_each: Arc<OfEach>,
}

/// A turn; given back when it is dropped.
struct Turn {
    _all: OwnedSemaphorePermit,
    _of_cluster: OwnedSemaphorePermit,
    _place: Place,
}

impl Looks {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { all: Arc::new(Semaphore::new(LOOKS_MAX)), of_each: Arc::default(), clock }
    }

    /// Waits among those of the cluster before it waits among all.
    async fn turn(&self, place: Place) -> Turn {
        let closed = "nobody closes it";
        let of_cluster = place.turns.clone().acquire_owned().await.expect(closed);
        let all = self.all.clone().acquire_owned().await.expect(closed);
        Turn { _all: all, _of_cluster: of_cluster, _place: place }
    }
}

#[async_trait]
impl Turns for Looks {
    async fn begin(&self, cluster: &ClusterId) -> Result<Box<dyn Send>, Error> {
        let turn = self.turn(OfEach::place(&self.of_each, cluster));
        match future::select(std::pin::pin!(turn), self.clock.sleep(WAIT_MAX)).await {
            Either::Left((turn, _)) => Ok(Box::new(turn)),
            Either::Right(_) => {
                let busy = format!("others look at it, and at more: no turn within {WAIT_MAX:?}");
                Err(Error::Unreachable { source: Arc::new(io::Error::other(busy)) })
            }
        }
    }
}

impl OfEach {
    fn place(self: &Arc<Self>, cluster: &ClusterId) -> Place {
        let mut clusters = self.clusters();
        let turns =
            clusters.entry(cluster.clone()).or_insert_with(|| Arc::new(Semaphore::new(LOOKS_OF_EACH_MAX)));
        Place { cluster: cluster.clone(), turns: turns.clone(), of_each: self.clone() }
    }

    fn clusters(&self) -> MutexGuard<'_, BTreeMap<ClusterId, Arc<Semaphore>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut clusters = self.of_each.clusters();
        // Its own and that of the map: nobody else looks at the cluster, or waits to.
        if Arc::strong_count(&self.turns) <= 2 {
            clusters.remove(&self.cluster);
        }
    }
}

#[cfg(test)]
mod tests {
    use dcm_sync::runtime::TokioClock;

    use super::*;

    fn cluster(number: usize) -> ClusterId {
        format!("p/c{number}").parse().unwrap()
    }

    async fn is_free(looks: &Looks, cluster: &ClusterId) -> bool {
        tokio::time::timeout(Duration::from_secs(1), looks.begin(cluster)).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn one_cluster_takes_a_share_of_the_turns_and_all_have_a_limit() {
        let looks = Looks::new(Arc::new(TokioClock::new()));
        let (first, another) = (cluster(0), cluster(LOOKS_MAX));
        let mut turns = Vec::new();
        for number in 0..LOOKS_MAX {
            turns.push(looks.begin(&cluster(number / LOOKS_OF_EACH_MAX)).await.unwrap());
        }
        assert!(!is_free(&looks, &another).await);
        turns.truncate(LOOKS_MAX - LOOKS_OF_EACH_MAX);
        assert!(!is_free(&looks, &first).await && is_free(&looks, &another).await);
        let waited = looks.begin(&first).await.map(drop).unwrap_err();
        assert!(waited.is_about_cluster() && waited.is_retryable(), "{waited}");
        let (turn, ()) = tokio::join!(looks.begin(&first), async { drop(turns.remove(0)) });
        drop((turn.unwrap(), turns));
        assert!(looks.of_each.clusters().is_empty());
    }
}
