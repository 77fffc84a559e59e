//! The simulated store holds the contract of stores.

use std::sync::Arc;
use std::time::Duration;

use dcm_core::port::store::Store;
use dcm_store::conformance::Subject;
use dcm_sync::runtime::TokioClock;
use dcm_sync::sim::Latency;
use dcm_sync::simulation::{SimStore, StoreSettings};

/// Long enough that some calls fall into it.
const OUTAGE: Duration = Duration::from_millis(50);

fn subject_with(atomic_batches: bool) -> Subject {
    let settings = StoreSettings { atomic_batches, latency: Latency::default() };
    let store = SimStore::new(Arc::new(TokioClock::new()), settings, 1);
    let same = store.clone();
    Subject::new(Arc::new(store.clone()))
        .opened_by(async move || Arc::new(same.clone()) as Arc<dyn Store>)
        .disturbed_by(async move || {
            store.set_down(true);
            tokio::time::sleep(OUTAGE).await;
            store.set_down(false);
        })
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
