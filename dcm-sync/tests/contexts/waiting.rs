//! Waiting for the work on a context.

use dcm_core::name::ClusterId;
use dcm_core::port::store::{Document, Path, Store as _, StoreExt as _, Write};
use dcm_core::port::synchronizer::{Error, Removal, Synchronizer as _};
use dcm_core::status::Progress;
use serde_json::{Value, json};

use crate::support::{World, cluster, context, id};

/// Does a worker's part: says that a lane is done.
async fn finish(world: &World, cluster: &ClusterId, untidy: bool) {
    let root = world.records().await["contexts/lc-1/root"].clone();
    let bundle = root["placements"][0]["bundles"][0][0].clone();
    let lane = json!({"schema": 1, "state": "done", "bundle": bundle, "generation": root["generation"],
        "attempt": root["attempt"], "fence": 1, "since": "2026-06-01T00:00:00Z", "untidy": untidy});
    let path = Path::new(format!("lanes/lc-1/{cluster}")).unwrap();
    let document = Document::from_value(&lane).unwrap();
    world.store.write_one(Write::Create { path, document }).await.unwrap();
}

/// Does a worker's part: says that a lane is cleared that was done.
async fn clear(world: &World, cluster: &ClusterId) {
    let path = Path::new(format!("lanes/lc-1/{cluster}")).unwrap();
    let entry = world.store.get(&path).await.unwrap().unwrap();
    let mut lane: Value = entry.document.read().unwrap();
    lane["state"] = "removed".into();
    lane["generation"] = world.records().await["contexts/lc-1/root"]["generation"].clone();
    let document = Document::from_value(&lane).unwrap();
    world.store.write_one(Write::Update { path, version: entry.version, document }).await.unwrap();
}

#[tokio::test]
async fn a_wait_lists_the_lanes_once_however_often_they_change() {
    let world = World::new(true);
    world.contexts.apply(&context(&["a"], 1..=100)).await.unwrap();
    let (contexts, waited) = (world.contexts.clone(), id());
    let wait = tokio::spawn(async move { contexts.wait_until_done(&waited).await });
    let (contexts, waited) = (world.contexts.clone(), id());
    let tidy = tokio::spawn(async move { contexts.wait_until_tidy(&waited).await });
    crate::support::later(20).await;
    world.store.calls();
    let mut others = 0;
    for number in 1..=100 {
        finish(&world, &cluster(number), false).await;
        crate::support::later(20).await;
        // Its own: a list and a write.
        others += world.store.calls() - 2;
    }
    assert_eq!(wait.await.unwrap().unwrap().progress, Progress::Done);
    tidy.await.unwrap().unwrap();
    assert!(others < 20, "{others} calls for a hundred changes");
}

#[tokio::test]
async fn a_wait_goes_on_over_a_lost_watch_and_another_desired_state() {
    let world = World::new(true);
    world.contexts.apply(&context(&["a"], 1..=2)).await.unwrap();
    let (contexts, waited) = (world.contexts.clone(), id());
    let wait = tokio::spawn(async move { contexts.wait_until_done(&waited).await });
    crate::support::later(20).await;
    finish(&world, &cluster(1), false).await;
    world.store.lose_watches();
    crate::support::later(20).await;
    world.contexts.apply(&context(&["b"], 2..=3)).await.unwrap();
    finish(&world, &cluster(3), false).await;
    clear(&world, &cluster(1)).await;
    crate::support::later(20).await;
    assert!(!wait.is_finished(), "the second cluster is not done");
    finish(&world, &cluster(2), false).await;
    let status = wait.await.unwrap().unwrap();
    assert_eq!(status.progress, Progress::Done);
}

#[tokio::test]
async fn who_waits_for_a_context_that_is_forgotten_is_told() {
    let world = World::new(true);
    world.contexts.apply(&context(&["a"], 1..=1)).await.unwrap();
    finish(&world, &cluster(1), true).await;
    world.contexts.apply(&context(&["b"], 1..=1)).await.unwrap();
    let (contexts, waited) = (world.contexts.clone(), id());
    let wait = tokio::spawn(async move { contexts.wait_until_done(&waited).await });
    let (contexts, waited) = (world.contexts.clone(), id());
    let tidy = tokio::spawn(async move { contexts.wait_until_tidy(&waited).await });
    crate::support::later(20).await;
    assert!(!wait.is_finished() && !tidy.is_finished());
    let forgotten = async {
        world.contexts.remove(&id(), Removal::default()).await.unwrap();
        world.contexts.forget(&id()).await.unwrap();
    };
    forgotten.await;
    match wait.await.unwrap() {
        Ok(status) => assert_eq!(status.progress, Progress::Done, "it was removed before it was forgotten"),
        Err(error) => assert!(matches!(error, Error::NotFound { .. }), "{error}"),
    }
    tidy.await.unwrap().unwrap();
}

#[tokio::test]
async fn one_lane_is_told_as_in_the_whole_status_and_takes_two_reads() {
    let world = World::new(true);
    let holds = async || {
        let status = world.contexts.status(&id()).await.unwrap();
        for number in 1..=4 {
            world.store.calls();
            let lane = world.contexts.lane(&id(), &cluster(number)).await.unwrap();
            assert!(world.store.calls() <= 2);
            let of_all = status.as_ref().and_then(|status| status.lanes.get(&cluster(number)));
            assert_eq!(lane.as_ref(), of_all, "cluster {number}");
        }
        status.map_or(0, |status| status.lanes.len())
    };
    assert_eq!(holds().await, 0, "there is no such context");
    world.contexts.apply(&context(&["a"], 1..=3)).await.unwrap();
    finish(&world, &cluster(1), false).await;
    assert_eq!(holds().await, 3);
    world.contexts.apply(&context(&["a"], 2..=3)).await.unwrap();
    assert_eq!(holds().await, 2, "there is nothing on the one that leaves");
    world.contexts.remove(&id(), Removal::default()).await.unwrap();
    holds().await;
    clear(&world, &cluster(1)).await;
    holds().await;
}
