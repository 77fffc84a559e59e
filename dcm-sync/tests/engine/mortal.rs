//! What stands before the store and the fleet when one call goes wrong: the process dies there, or the call fails once.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use dcm_core::port::cluster::Clusters;
use dcm_sync::engine::{Engine, Options};
use dcm_sync::tap::{Crossing, PortError, Tap, Tapped};
use tokio::task::JoinHandle;

use crate::fixture::World;

/// What goes wrong at the chosen call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mishap {
    /// The process dies, and the call never leaves.
    DeathBefore,
    /// The call happens, and the process dies before it hears of it.
    DeathAfter,
    /// The call never leaves, and fails.
    FailureBefore,
    /// The call happens, and fails all the same.
    FailureAfter,
}

impl Mishap {
    pub fn is_death(self) -> bool {
        matches!(self, Self::DeathBefore | Self::DeathAfter)
    }

    fn is_after(self) -> bool {
        matches!(self, Self::DeathAfter | Self::FailureAfter)
    }
}

/// Counts calls, such as those that change something; one of them goes wrong. After a death nothing answers any more.
pub struct Life {
    counts: fn(&Crossing<'_>) -> bool,
    left: AtomicI64,
    mishap: Mishap,
}

impl Life {
    /// The one after so many that change something goes wrong.
    pub fn new(calls: i64, mishap: Mishap) -> Arc<Self> {
        Arc::new(Self { counts: |crossing| crossing.changes(), left: AtomicI64::new(calls), mishap })
    }

    /// The first one of a kind goes wrong.
    pub fn until_first(counts: fn(&Crossing<'_>) -> bool, mishap: Mishap) -> Arc<Self> {
        Arc::new(Self { counts, left: AtomicI64::new(0), mishap })
    }

    /// An engine that reaches store and clusters through this.
    pub fn engine(self: &Arc<Self>, world: &World) -> (Engine, JoinHandle<()>) {
        let clusters: Arc<dyn Clusters> = world.fleet.clone();
        let store = Arc::new(Tapped::new(world.store.clone(), self.clone()));
        world.engine_between(store, Arc::new(Tapped::new(clusters, self.clone())), Options::default())
    }

    /// True when the chosen call was reached.
    pub fn is_over(&self) -> bool {
        self.left.load(Ordering::Relaxed) < 0
    }
}

impl Tap for Life {
    async fn pass<T: Send, E: PortError>(
        &self,
        crossing: Crossing<'_>,
        call: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, E> {
        let is_chosen = (self.counts)(&crossing) && self.left.fetch_sub(1, Ordering::Relaxed) == 0;
        if !is_chosen && self.is_over() && self.mishap.is_death() {
            return std::future::pending().await;
        }
        if !is_chosen {
            return call.await;
        }
        if self.mishap.is_after() {
            drop(call.await);
        }
        if self.mishap.is_death() { std::future::pending().await } else { Err(E::lost()) }
    }
}
