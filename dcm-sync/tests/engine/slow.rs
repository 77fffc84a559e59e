//! A world whose store takes its time, and fails some calls when it is told to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use dcm_core::port::store::{Path, Store};
use dcm_sync::tap::{Crossing, PortError, Tap, Tapped};
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
