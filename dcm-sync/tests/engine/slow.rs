//! A world whose store takes its time, and fails some calls when it is told to, or whose first cluster hears of things late.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use dcm_core::port::cluster::Clusters;
use dcm_core::port::store::{Path, Store};
use dcm_sync::engine::{Engine, Options};
use dcm_sync::sim::{Link, SimCluster, cluster_id};
use dcm_sync::tap::{ClusterChange, Crossing, PortError, Tap, Tapped};
use tokio::sync::Notify;

use crate::fixture::World;

/// What happens to the records of lanes.
pub struct Lanes {
    /// The store itself, which takes no time.
    pub store: Arc<dyn Store>,
    pub writes: AtomicU64,
    /// A batch with a lane's record is about to be stored.
    pub commit_begun: Notify,
    /// How many of the next reads fail.
    pub failing_reads: AtomicU64,
    /// No batch with a lane's record is stored.
    pub fail_writes: AtomicBool,
}

pub fn is_of_lane(path: &Path) -> bool {
    path.as_str().contains("lanes/")
}

/// Stands before the store: writes and lists take their time, and some reads fail.
struct Slow {
    slowness: Duration,
    lanes: Arc<Lanes>,
}

impl Tap for Slow {
    async fn pass<T: Send, E: PortError>(
        &self,
        crossing: Crossing<'_>,
        call: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, E> {
        match crossing {
            Crossing::Get(path) if is_of_lane(path) => {
                let left = &self.lanes.failing_reads;
                let less =
                    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
                if less.is_ok() { Err(E::lost()) } else { call.await }
            }
            Crossing::Commit(batch) => {
                let lanes = batch.iter().filter(|write| is_of_lane(write.path())).count();
                self.lanes.writes.fetch_add(lanes as u64, Ordering::Relaxed);
                if lanes > 0 {
                    self.lanes.commit_begun.notify_one();
                }
                tokio::time::sleep(self.slowness).await;
                if lanes > 0 && self.lanes.fail_writes.load(Ordering::Relaxed) {
                    return Err(E::lost());
                }
                let written = call.await;
                tokio::time::sleep(self.slowness).await;
                written
            }
            Crossing::Read => {
                let read = call.await;
                tokio::time::sleep(self.slowness).await;
                read
            }
            _ => call.await,
        }
    }
}

pub fn world_with(slowness: Duration) -> (World, Arc<Lanes>) {
    let mut world = World::new(1);
    let store = world.store.clone();
    let lanes = Arc::new(Lanes {
        store,
        writes: AtomicU64::new(0),
        commit_begun: Notify::new(),
        failing_reads: AtomicU64::new(0),
        fail_writes: AtomicBool::new(false),
    });
    let slow = Arc::new(Slow { slowness, lanes: lanes.clone() });
    world.store = Arc::new(Tapped::new(world.store, slow));
    (world, lanes)
}

/// From the first change of a kind on, and until its link is set anew, the cluster hears of everything late. Its answer with a
/// token takes a while.
struct Delaying {
    cluster: SimCluster,
    is_first: fn(&ClusterChange<'_>) -> bool,
    has_begun: AtomicBool,
}

impl Tap for Delaying {
    async fn pass<T: Send, E: PortError>(
        &self,
        crossing: Crossing<'_>,
        call: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, E> {
        let is_first = matches!(crossing, Crossing::Change(_, change) if (self.is_first)(&change));
        if is_first && !self.has_begun.swap(true, Ordering::Relaxed) {
            self.cluster.set_link(Link::Delay(LATE));
        }
        let answer = call.await;
        if matches!(crossing, Crossing::Change(_, ClusterChange::IssueToken(_))) {
            tokio::time::sleep(TOKEN).await;
        }
        answer
    }
}

/// Later than an engine waits for an answer.
const LATE: Duration = Duration::from_secs(40);
const TOKEN: Duration = Duration::from_secs(5);

/// An engine whose first change of a kind comes late to the first cluster.
pub fn engine_delayed(world: &World, is_first: fn(&ClusterChange<'_>) -> bool) -> Engine {
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap().clone();
    let delaying = Arc::new(Delaying { cluster, is_first, has_begun: AtomicBool::new(false) });
    let clusters: Arc<dyn Clusters> = world.fleet.clone();
    let clusters = Arc::new(Tapped::new(clusters, delaying));
    world.engine_between(world.store.clone(), clusters, Options::default()).0
}
