//! Orphans: what a lost store leaves on clusters, listed, and cleared only when somebody says so.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use common::{World, everything, spec};
use dcm_core::app_context::Generation;
use dcm_core::name::ContextId;
use dcm_core::port::synchronizer::Disposal;
use dcm_server::{Cleared, Deployment, Parts};
use dcm_store::MemoryStore;
use dcm_sync::engine::{Acquire, Options};
use dcm_sync::runtime::OsRandom;
use dcm_sync::sim::cluster_id;
use std::sync::Arc;

/// A cloud on the first cluster, and a deployment over the same clusters whose store is empty.
async fn lost() -> (World, Deployment) {
    let world = World::new(1).await;
    let engine = world.deployment.engine(Acquire::All);
    world.put(spec(&everything())).await;
    world.apply().await;
    world.done().await;
    engine.shutdown().await;
    let empty = Deployment::over(Parts {
        store: Arc::new(MemoryStore::new()),
        clusters: world.fleet.clone(),
        check: Arc::new(|_| Ok(())),
        engine: Options::default(),
        clock: world.deployment.clock().clone(),
        random: Arc::new(OsRandom),
    });
    (world, empty)
}

/// The one app context that there are orphans of.
async fn context(deployment: &Deployment) -> ContextId {
    deployment.orphans(&cluster_id(1)).await.unwrap().remove(0).context
}

#[tokio::test(start_paused = true)]
async fn what_a_store_knows_is_no_orphan_and_what_it_does_not_is_one_and_is_left_alone() {
    let (world, empty) = lost().await;
    let owned = world.owned();
    assert_eq!(world.deployment.orphans(&cluster_id(1)).await.unwrap(), []);
    let orphans = empty.orphans(&cluster_id(1)).await.unwrap();
    assert_eq!(orphans.len(), owned);
    assert!(orphans.iter().all(|orphan| orphan.generation == Generation(1) && orphan.cleared.is_none()));
    let engine = empty.engine(Acquire::All);
    tokio::time::sleep(common::SOON).await;
    engine.shutdown().await;
    assert_eq!(world.owned(), owned);
}

#[tokio::test(start_paused = true)]
async fn orphans_are_removed_when_somebody_says_so() {
    let (world, empty) = lost().await;
    let context = context(&empty).await;
    let others = ContextId::new("another").unwrap();
    assert_eq!(
        empty.clear_orphans(&world.caller, &cluster_id(1), &others, Disposal::Delete).await.unwrap(),
        []
    );
    let cleared =
        empty.clear_orphans(&world.caller, &cluster_id(1), &context, Disposal::Delete).await.unwrap();
    assert!(cleared.iter().all(|orphan| orphan.cleared == Some(Cleared::Deleted)), "{cleared:#?}");
    // A namespace takes its time.
    tokio::time::sleep(common::SOON).await;
    let _ = empty.orphans(&cluster_id(1)).await.unwrap();
    assert_eq!(world.owned(), 0);
}

#[tokio::test(start_paused = true)]
async fn orphans_that_are_released_stay_without_our_marks() {
    let (world, empty) = lost().await;
    let (count, context) = (world.owned(), context(&empty).await);
    let cleared = empty.clear_orphans(&world.caller, &cluster_id(1), &context, Disposal::Keep).await.unwrap();
    assert_eq!(cleared.len(), count);
    assert!(cleared.iter().all(|orphan| orphan.cleared == Some(Cleared::Released)), "{cleared:#?}");
    assert_eq!((world.owned(), empty.orphans(&cluster_id(1)).await.unwrap()), (0, Vec::new()));
}
