//! Clusters to which connections take time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::{Cluster, Clusters, Error};
use dcm_sync::sim::Fleet;

/// Connections take a second of virtual time each (what they cost, not a wait for something); counts how many are opened in one moment.
pub(crate) struct Slow {
    fleet: Arc<Fleet>,
    opening: AtomicUsize,
    opening_max: AtomicUsize,
}

impl Slow {
    pub(crate) fn new(fleet: Arc<Fleet>) -> Self {
        Self { fleet, opening: AtomicUsize::new(0), opening_max: AtomicUsize::new(0) }
    }

    /// How many were opened in one moment at most, since this was asked last.
    pub(crate) fn opening_max(&self) -> usize {
        self.opening_max.swap(0, Ordering::Relaxed)
    }
}

#[async_trait]
impl Clusters for Slow {
    async fn connect(&self, cluster: &ClusterId) -> Result<Arc<dyn Cluster>, Error> {
        let opening = self.opening.fetch_add(1, Ordering::Relaxed) + 1;
        self.opening_max.fetch_max(opening, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.opening.fetch_sub(1, Ordering::Relaxed);
        self.fleet.connect(cluster).await
    }
}
