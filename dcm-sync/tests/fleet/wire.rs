//! What a program sends to its store and its clusters: counted where it leaves, whether it arrives or not.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use dcm_sync::tap::{Crossing, PortError, Tap};

/// Counts what is sent to clusters.
#[derive(Default)]
pub struct Requests {
    sent: AtomicUsize,
    writes: AtomicUsize,
    under_way: AtomicUsize,
    most_under_way: AtomicUsize,
}

impl Requests {
    /// How many were sent.
    pub fn sent(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }

    /// How many of them write.
    pub fn writes(&self) -> usize {
        self.writes.load(Ordering::Relaxed)
    }

    /// How many were under way at one time at most.
    pub fn most_under_way(&self) -> usize {
        self.most_under_way.load(Ordering::Relaxed)
    }
}

/// A request that is under way, until it is answered or given up.
struct UnderWay<'a>(&'a Requests);

impl<'a> UnderWay<'a> {
    fn begin(requests: &'a Requests) -> Self {
        let now = requests.under_way.fetch_add(1, Ordering::Relaxed) + 1;
        requests.most_under_way.fetch_max(now, Ordering::Relaxed);
        Self(requests)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Tap for Requests {
    async fn pass<T: Send, E: PortError>(
        &self,
        crossing: Crossing<'_>,
        call: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, E> {
        self.sent.fetch_add(1, Ordering::Relaxed);
        self.writes.fetch_add(usize::from(crossing.changes()), Ordering::Relaxed);
        let _under_way = UnderWay::begin(self);
        call.await
    }
}

/// Counts what is written to the store, by the first folder of its path.
#[derive(Default)]
pub struct Writes(Mutex<BTreeMap<String, usize>>);

impl Writes {
    /// How many documents of each folder were written, or deleted.
    pub fn by_folder(&self) -> BTreeMap<String, usize> {
        self.0.lock().unwrap().clone()
    }
}

impl Tap for Writes {
    async fn pass<T: Send, E: PortError>(
        &self,
        crossing: Crossing<'_>,
        call: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, E> {
        if let Crossing::Commit(batch) = crossing {
            let mut counts = self.0.lock().unwrap();
            for write in batch {
                let folder = write.path().as_str().split('/').next().unwrap();
                *counts.entry(folder.to_owned()).or_default() += 1;
            }
        }
        call.await
    }
}
