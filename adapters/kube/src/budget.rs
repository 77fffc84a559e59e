//! How much of a cluster's answers is read, and held, at once.
//!
//! One cluster, or its tenants, can answer with more than memory holds, and without end. So:
//! - A small answer ([`SMALL_BYTES_MAX`]) is read as it comes. A larger one takes one of the few places that its cluster has
//!   for such, and room of the memory that all clusters share, for as long as it is held.
//! - What is read is paid out of an allowance of the cluster, which grows with time. Where it is used up, reading waits: an
//!   API server that makes up objects as they are read takes a small share of the processor, and no other cluster waits.
//!
//! Both outlive a connection: a cluster gets nothing by breaking it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::options::Options;

/// Largest answer that is read without a place, in bytes: all but long lists and large objects.
pub(crate) const SMALL_BYTES_MAX: usize = 256 * 1024;

/// Larger answers held of one cluster at once: one does not wait for a slow other one.
const LARGE_AT_ONCE: usize = 2;

/// Room is counted in these, so that it fits the counter.
const UNIT_BYTES: usize = 1024;

/// Memory for large answers of all clusters together. Clones share it.
#[derive(Debug, Clone)]
pub struct Memory {
    room: Arc<Semaphore>,
    units: u32,
}

impl Memory {
    /// This many bytes, of which an answer takes as many as it may have at most. An answer that may have more takes all.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let units = u32::try_from(bytes / UNIT_BYTES).unwrap_or(u32::MAX).max(1);
        Self { room: Arc::new(Semaphore::new(units as usize)), units }
    }

    async fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX).min(self.units);
        // It is never closed.
        self.room.clone().acquire_many_owned(units).await.ok()
    }
}

impl Default for Memory {
    /// 128 MiB: 32 large pages of lists, or eight of the largest objects.
    fn default() -> Self {
        Self::new(128 * 1024 * 1024)
    }
}

/// A place for a large answer, until it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    _place: Option<OwnedSemaphorePermit>,
    _room: Option<OwnedSemaphorePermit>,
}

/// What one cluster may take, over all its connections.
#[derive(Debug)]
pub(crate) struct Budget {
    memory: Memory,
    places: Arc<Semaphore>,
    bytes_per_second: u64,
    burst: Duration,
    /// When all that was read is paid for.
    paid: Mutex<Instant>,
}

impl Budget {
    pub(crate) fn new(options: &Options) -> Self {
        let bytes_per_second = options.cluster_bytes_per_second.max(1);
        Self {
            memory: options.memory.clone(),
            places: Arc::new(Semaphore::new(LARGE_AT_ONCE)),
            bytes_per_second,
            burst: Duration::from_secs_f64(options.cluster_bytes_burst as f64 / bytes_per_second as f64),
            paid: Mutex::new(Instant::now()),
        }
    }

    /// Takes place for a large answer of at most so many bytes.
    pub(crate) async fn hold(&self, bytes_max: usize) -> Held {
        // The cluster's own place first: who waits for that keeps no room from others.
        let place = self.places.clone().acquire_owned().await.ok();
        Held { _place: place, _room: self.memory.take(bytes_max).await }
    }

    /// Pays for what was read, and waits until the allowance is not used up.
    pub(crate) async fn pay(&self, bytes: usize) {
        let until = self.charge(bytes);
        if until > Instant::now() {
            tokio::time::sleep_until(until).await;
        }
    }

    /// Has what was read paid for by what is read next.
    pub(crate) fn owe(&self, bytes: usize) {
        self.charge(bytes);
    }

    /// When more may be read.
    fn charge(&self, bytes: usize) -> Instant {
        let cost = Duration::from_secs_f64(bytes as f64 / self.bytes_per_second as f64);
        // Nothing panics while it is locked, and a time is whole.
        let mut paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        *paid = (*paid).max(Instant::now()) + cost;
        paid.checked_sub(self.burst).unwrap_or(*paid)
    }

    /// True when nothing is owed and no answer is held: a new budget is as good.
    pub(crate) fn is_rested(&self) -> bool {
        let paid = *self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        paid <= Instant::now() && self.places.available_permits() == LARGE_AT_ONCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(memory: Memory) -> Budget {
        let options = Options {
            memory,
            cluster_bytes_per_second: 1000,
            cluster_bytes_burst: 2000,
            ..Options::default()
        };
        Budget::new(&options)
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_read_beyond_the_burst_waits_for_the_rate() {
        let budget = budget(Memory::default());
        let begun = Instant::now();
        budget.pay(2000).await;
        assert_eq!(begun.elapsed(), Duration::ZERO);
        assert!(!budget.is_rested());
        for _ in 0..10 {
            budget.pay(1000).await;
        }
        let waited = begun.elapsed();
        assert!((Duration::from_secs(10)..Duration::from_millis(10_100)).contains(&waited), "{waited:?}");
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert!(budget.is_rested());
    }

    #[tokio::test(start_paused = true)]
    async fn a_cluster_has_few_places_and_all_clusters_share_one_memory() {
        let memory = Memory::new(4 * UNIT_BYTES);
        let (one, other) = (budget(memory.clone()), budget(memory));
        let waits = async |budget: &Budget, bytes: usize| {
            tokio::time::timeout(Duration::from_secs(1), budget.hold(bytes)).await.is_err()
        };
        let (first, second) = (one.hold(UNIT_BYTES).await, one.hold(UNIT_BYTES).await);
        assert!(waits(&one, UNIT_BYTES).await, "its places are taken");
        let third = other.hold(2 * UNIT_BYTES).await;
        assert!(waits(&other, UNIT_BYTES).await, "the memory is taken");
        drop((first, third));
        assert!(waits(&other, 100 * UNIT_BYTES).await, "more than all waits for all");
        drop(second);
        assert!(!waits(&other, 100 * UNIT_BYTES).await);
    }
}
