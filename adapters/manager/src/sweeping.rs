//! Removing what arrives late of deleted logical clouds, for as long as a worker runs.

use dcm_core::port::clock::Clock;
use dcm_core::service::{LogicalClouds, SWEEP_INTERVAL, SweepAgenda};

/// Removes what arrives late of deleted logical clouds, at intervals of [`SWEEP_INTERVAL`]. Never ends by itself; dropping it at any
/// point is safe.
pub async fn keep_swept(clouds: &LogicalClouds, clock: &dyn Clock) {
    let mut agenda = SweepAgenda::default();
    loop {
        if let Err(error) = clouds.sweep(&mut agenda).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "can't remove late objects of deleted logical clouds");
        }
        clock.sleep(SWEEP_INTERVAL).await;
    }
}
