//! Applies that are refused while another one is, or was, under way.

use dcm_core::port::store;
use dcm_core::port::synchronizer::Error as Failure;
use dcm_core::service::{Applied, ApplyOutcome, Error};
use dcm_core::status::Intent;
use dcm_store::memory::Fault;
use serde_json::{Value, json};

use crate::service::support::{World, draft, name};

/// A world in which another cloud has the usual namespace in cluster `three`.
async fn with_rival() -> World {
    let world = World::new(true).await;
    let mut rival = draft();
    rival["metadata"]["name"] = "rival".into();
    rival["spec"]["clusters"] = json!([{"name": "r1", "provider": "sim", "cluster": "three"}]);
    world.put(rival).await.unwrap();
    world.apply("rival").await.unwrap();
    world.put(draft()).await.unwrap();
    world
}

/// The usual cloud, in the rival's cluster too.
fn too_wide() -> Value {
    let mut draft = draft();
    let third = json!({"name": "r3", "provider": "sim", "cluster": "three"});
    draft["spec"]["clusters"].as_array_mut().unwrap().push(third);
    draft
}

fn assert_taken(applied: &Result<Applied, Error>) {
    assert!(matches!(applied, Err(Error::NamespaceTaken { .. })), "{applied:?}");
}

async fn assert_applied(world: &World, snapshot: u64) {
    let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
    assert_eq!(status.applied.unwrap().snapshot, snapshot);
    assert!(!status.is_interrupted);
    assert!(world.engine.held().values().all(|held| held.intent == Intent::Present));
}

#[tokio::test]
async fn a_refused_apply_does_not_forget_what_an_apply_that_was_cut_off_had_handed_over() {
    let world = with_rival().await;
    let store = world.store.clone();
    world.engine.before_apply(async move { store.fail_after(0, Fault::NotWritten, true) });
    world.apply("shop").await.unwrap_err();
    world.store.start_again();
    assert_eq!(world.engine.held().len(), 2, "the engine has it, and the root does not say so yet");

    world.put(too_wide()).await.unwrap();
    assert_taken(&world.apply("shop").await);
    let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
    assert!(status.is_interrupted, "something of it may be on clusters");
    let mut moved = draft();
    moved["spec"]["namespace"] = "elsewhere".into();
    assert!(matches!(world.put(moved).await, Err(Error::Refused(_))), "the namespace may be on clusters");
    world.put(draft()).await.unwrap();
    let applied = world.apply("shop").await.unwrap();
    assert_applied(&world, applied.snapshot).await;
}

#[tokio::test]
async fn a_refused_apply_does_not_take_another_callers_apply_off_its_clusters() {
    let world = with_rival().await;
    let other = world.clone();
    world.engine.before_apply(async move {
        other.put(too_wide()).await.unwrap();
        assert_taken(&other.apply("shop").await);
    });
    let applied = world.apply("shop").await.unwrap();
    assert_eq!((applied.snapshot, applied.outcome), (1, ApplyOutcome::Begun));
    assert_applied(&world, 1).await;
}

#[tokio::test]
async fn an_apply_stands_when_the_newer_one_that_it_hands_over_for_another_caller_is_refused() {
    let world = with_rival().await;
    let other = world.clone();
    world.engine.before_apply(async move {
        other.put(too_wide()).await.unwrap();
        let momentary = store::Error::Failed { reason: "for a moment".into(), source: None };
        other.engine.fail_next(Failure::Store(momentary));
        other.apply("shop").await.unwrap_err();
    });
    assert_eq!(world.apply("shop").await.unwrap().snapshot, 1);
    assert_applied(&world, 1).await;
}

#[tokio::test]
async fn a_first_apply_that_is_refused_leaves_a_cloud_that_was_never_applied() {
    let world = with_rival().await;
    world.put(too_wide()).await.unwrap();
    assert_taken(&world.apply("shop").await);
    assert_eq!(world.state("shop").await, "created");
}
