//! What stands before the store and the fleet when one call goes wrong: the process dies there, or the call fails once.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use dcm_sync::tap::{Crossing, PortError, Tap};

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

/// Counts the calls that change something; one of them goes wrong. After a death nothing answers any more.
pub struct Life {
    left: AtomicI64,
    mishap: Mishap,
}

impl Life {
    pub fn new(calls: i64, mishap: Mishap) -> Arc<Self> {
        Arc::new(Self { left: AtomicI64::new(calls), mishap })
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
        let is_chosen = crossing.changes() && self.left.fetch_sub(1, Ordering::Relaxed) == 0;
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
