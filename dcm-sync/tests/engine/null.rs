//! Clusters that only count, on which benches measure the engine.

use std::sync::Arc;

use dcm_core::port::clock::Clock;
use dcm_core::port::synchronizer::Synchronizer as _;
use dcm_core::status::Progress;
use dcm_store::memory::MemoryStore;
use dcm_sync::engine::Engine;
use dcm_sync::runtime::{OsRandom, TokioClock};
use dcm_sync::sim::NullFleet;

use crate::fixture::*;

/// The five objects of [`steps`]; a CertificateSigningRequest, its approval and its deletion; and a token.
const WRITES: u64 = 9;

#[tokio::test(start_paused = true)]
async fn an_app_context_is_done_on_clusters_that_only_count_with_one_write_for_each_thing() {
    let clock: Arc<dyn Clock> = Arc::new(TokioClock::new());
    let fleet = NullFleet::new(clock.clone());
    let store = Arc::new(MemoryStore::new());
    let (engine, work) = Engine::builder(store, Arc::new(fleet.clone())).build(clock, &OsRandom);
    tokio::spawn(work);
    engine.contexts().apply(&context(steps(), [1, 2])).await.unwrap();
    let status = done(&engine, &context_id()).await;
    assert_eq!(status.progress, Progress::Done);
    tidied(&engine).await;
    assert_eq!(fleet.writes(), 2 * WRITES);
}
