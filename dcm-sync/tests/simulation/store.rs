//! The simulated store holds the contract of stores.

use std::sync::Arc;

use dcm_store::conformance::Subject;
use dcm_sync::runtime::TokioClock;
use dcm_sync::sim::Latency;
use dcm_sync::simulation::{SimStore, StoreSettings};

fn subject_with(atomic_batches: bool) -> Subject {
    let settings = StoreSettings { atomic_batches, latency: Latency::default() };
    Subject::new(Arc::new(SimStore::new(Arc::new(TokioClock::new()), settings, 1)))
}

mod with_atomic_batches {
    use super::*;

    async fn subject() -> Subject {
        subject_with(true)
    }

    dcm_store::conformance!(subject);
}

mod without_atomic_batches {
    use super::*;

    async fn subject() -> Subject {
        subject_with(false)
    }

    dcm_store::conformance!(subject);
}
