//! Clearing what came late of deleted logical clouds, for as long as a worker runs.

use dcm_core::service::{SWEEP_INTERVAL, SweepAgenda};

use crate::deployment::Deployment;

/// Sweeps again and again. Never ends by itself; ending it anywhere is safe.
pub(crate) async fn keep_swept(deployment: Deployment) {
    let mut agenda = SweepAgenda::default();
    loop {
        if let Err(error) = deployment.clouds().sweep(&mut agenda).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "can't clear what came late of deleted clouds");
        }
        deployment.clock().sleep(SWEEP_INTERVAL).await;
    }
}
