//! A name that stands for another cluster than before.

use std::collections::BTreeSet;
use std::sync::Arc;

use dcm_core::port::cluster::ClusterUid;
use dcm_core::port::store::{Change, Document, Path, Prefix, Write};
use dcm_core::port::synchronizer::Error;
use dcm_core::port::synchronizer::{Issued, Removal, Synchronizer as _};
use dcm_core::status::{LaneState, Progress, Reason};
use dcm_sync::engine::Engine;
use dcm_sync::sim::{Fleet, cluster_id};
use dcm_sync::tap::Crossing;
use futures::StreamExt as _;

use crate::fixture::*;
use crate::mortal::{Life, Mishap};

/// A context that was brought to a cluster whose name stands for another one now, and is to be removed from there by a
/// worker.
async fn moved() -> (World, World, Engine) {
    let world = World::new(1);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    engine.shutdown().await;
    let elsewhere = world.with_other_clusters();
    let engine = elsewhere.engine();
    engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    (world, elsewhere, engine)
}

/// The same, applied again, and the worker has found it out.
async fn changed() -> (World, World, Engine) {
    let (world, elsewhere, engine) = moved().await;
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    let status = until(&engine, |status| status.progress == Progress::Stuck).await;
    assert_eq!(status.lanes[&cluster_id(1)].cause.as_ref().unwrap().reason, Reason::ClusterChanged);
    (world, elsewhere, engine)
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_another_one_than_before_halts_its_lanes() {
    let (_, elsewhere, engine) = moved().await;
    let status = engine.contexts().wait_until_done(&context_id()).await.unwrap();
    assert_eq!(status.progress, Progress::Stuck);
    assert_eq!(status.lanes[&cluster_id(1)].cause.as_ref().unwrap().reason, Reason::ClusterChanged);
    assert_eq!(elsewhere.writes(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_accepted_in_place_of_another_gets_everything_anew() {
    let (world, elsewhere, engine) = changed().await;
    let (before, old) = (world.writes(), engine.contexts().results(&context_id()).await.unwrap());
    assert_eq!(elsewhere.writes(), 0);
    engine.contexts().accept_cluster(&cluster_id(1), &elsewhere.uid(1)).await.unwrap();
    let accepted = world.clock.now();
    done(&engine, &context_id()).await;
    assert!(world.clock.now().duration_since(accepted).as_secs() < 5, "nobody waits for the next look");
    assert_eq!(elsewhere.owned(1).len(), 5);
    let new = engine.contexts().results(&context_id()).await.unwrap();
    let pem = |issued: &Issued| match issued {
        Issued::Certificate { pem, .. } => pem.clone(),
        Issued::Token { .. } => panic!("{issued:?}"),
    };
    let of = |results: &dcm_core::port::synchronizer::Results| pem(&results[&cluster_id(1)]["developer"]);
    assert_ne!(of(&new), of(&old), "the old cluster's certificate is worth nothing here");
    assert_eq!(world.writes(), before, "the old one is left alone");
    let again = engine.contexts().accept_cluster(&cluster_id(1), &elsewhere.uid(1)).await;
    again.unwrap();
    assert_eq!(done(&engine, &context_id()).await.lanes[&cluster_id(1)].state, LaneState::Done);
}

#[tokio::test(start_paused = true)]
async fn what_was_to_be_removed_from_the_old_cluster_is_gone_with_it() {
    let (_, elsewhere, engine) = changed().await;
    engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    until(&engine, |status| status.progress == Progress::Stuck).await;
    engine.contexts().accept_cluster(&cluster_id(1), &elsewhere.uid(1)).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(elsewhere.claimed("team").await, BTreeSet::new());
    engine.contexts().forget(&context_id()).await.unwrap();
    assert_eq!(elsewhere.writes(), 0);
}

/// True for a shard's record that says what its cluster is.
fn is_told(document: &Document) -> bool {
    document.as_str().contains(r#""identity""#)
}

fn tells(crossing: &Crossing<'_>) -> bool {
    let is_told = |write: &Write| matches!(write, Write::Create { document, .. } | Write::Update { document, .. } if is_told(document));
    matches!(crossing, Crossing::Commit(writes) if writes.iter().any(is_told))
}

#[tokio::test(start_paused = true)]
async fn what_a_cluster_is_is_stored_also_where_the_first_try_fails() {
    let life = Life::until_first(tells, Mishap::FailureBefore);
    let world = World::new(1);
    let (engine, _) = life.engine(&world);
    let mut shards = world.store.watch(&Prefix::below(&Path::new("shards").unwrap())).await.unwrap();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    let told = async {
        while !matches!(shards.next().await.unwrap(), Change::Put(entry) if is_told(&entry.document)) {}
    };
    tokio::time::timeout(SOON, told).await.unwrap();
    assert!(life.is_over());
    assert_eq!(engine.contexts().cluster_uid(&cluster_id(1)).await.unwrap(), Some(world.uid(1)));
}

/// Another name of the first cluster.
const TWIN: usize = 2;

/// A world whose one cluster has two names.
fn with_twin() -> World {
    with_alias(1, TWIN)
}

/// A world with so many clusters, of which the first has this name, too.
fn with_alias(clusters: usize, alias: usize) -> World {
    let mut world = World::new(clusters);
    let fleet =
        Fleet::builder(world.clock.clone()).clusters(clusters).alias(cluster_id(alias), cluster_id(1));
    world.fleet = Arc::new(fleet.build());
    world
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_has_another_name_now_is_left_under_the_first_one() {
    const OTHER: usize = 2;
    const NEW_NAME: usize = 3;
    let world = with_alias(2, NEW_NAME);
    let engine = world.engine();
    let contexts = engine.contexts();
    for clusters in [vec![1, OTHER], vec![OTHER]] {
        contexts.apply(&context(steps(), clusters)).await.unwrap();
        done(&engine, &context_id()).await;
    }
    contexts.release_identity(&cluster_id(1)).await.unwrap();
    contexts.apply(&context(steps(), [OTHER, NEW_NAME])).await.unwrap();
    done(&engine, &context_id()).await;
    let owned = world.owned(1);
    assert_eq!(owned.len(), 5);
    // Whatever is asked for once more, the first name does nothing there.
    contexts.reconcile(&context_id()).await.unwrap();
    done(&engine, &context_id()).await;
    tidied(&engine).await;
    assert_eq!(world.owned(1), owned);
    let status = contexts.status(&context_id()).await.unwrap().unwrap();
    assert_eq!(status.lanes[&cluster_id(NEW_NAME)].state, LaneState::Done);
    assert!(!status.lanes.contains_key(&cluster_id(1)), "{status:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_accepted_while_another_one_is_connected_is_the_one_that_is_worked_on() {
    let world = World::new(1);
    let engine = world.engine();
    let contexts = engine.contexts();
    contexts.apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    // The connection is still open: only the record tells the worker of the other cluster.
    let another = ClusterUid("another".into());
    contexts.accept_cluster(&cluster_id(1), &another).await.unwrap();
    let status = until(&engine, |status| status.progress == Progress::Stuck).await;
    let lane = &status.lanes[&cluster_id(1)];
    assert_eq!(lane.cause.as_ref().map(|cause| cause.reason), Some(Reason::ClusterChanged), "{lane:#?}");
}

#[tokio::test(start_paused = true)]
async fn of_two_names_of_one_cluster_one_is_worked_on_and_the_other_names_it() {
    let world = with_twin();
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    engine.contexts().apply(&context(steps(), [1, TWIN])).await.unwrap();
    let status = until(&engine, |status| status.progress == Progress::Stuck).await;
    let cause = status.lanes[&cluster_id(TWIN)].cause.as_ref().unwrap();
    assert_eq!(cause.reason, Reason::SameCluster);
    assert!(cause.message.contains("sim/cluster-1"), "{cause:?}");
    assert_eq!(status.lanes[&cluster_id(1)].state, LaneState::Done);

    let (writes, owned) = (world.writes(), world.owned(1));
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(world.owned(1), owned, "the second name takes nothing from the first");
    assert_eq!(world.writes(), writes, "nothing on the cluster changes");
}

#[tokio::test(start_paused = true)]
async fn two_names_that_are_reached_at_once_are_not_both_worked_on() {
    let world = with_twin();
    let (first, second) = (world.engine(), world.engine());
    first.contexts().apply(&context(steps(), [1, TWIN])).await.unwrap();
    let status = until(&first, |status| status.progress == Progress::Stuck).await;
    let states: Vec<_> = status.lanes.values().map(|lane| lane.state).collect();
    assert!(states.contains(&LaneState::Done), "{status:#?}");
    let refused = status
        .lanes
        .values()
        .filter(|lane| lane.cause.as_ref().map(|cause| cause.reason) == Some(Reason::SameCluster));
    assert_eq!(refused.count(), 1, "{status:#?}");
    drop(second);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_worked_on_under_another_name_is_not_accepted() {
    let world = World::new(2);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1, 2])).await.unwrap();
    done(&engine, &context_id()).await;
    let refused = engine.contexts().accept_cluster(&cluster_id(2), &world.uid(1)).await.unwrap_err();
    assert!(matches!(&refused, Error::SameCluster { first, .. } if *first == cluster_id(1)), "{refused}");
    assert_eq!(engine.contexts().cluster_uid(&cluster_id(2)).await.unwrap(), Some(world.uid(2)));
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_given_back_or_stands_for_another_cluster_keeps_no_cluster_from_another_name() {
    let world = with_twin();
    let engine = world.engine();
    let contexts = engine.contexts();
    contexts.hold_identity(&cluster_id(1), &world.uid(1)).await.unwrap();
    let refused = contexts.hold_identity(&cluster_id(TWIN), &world.uid(1)).await.unwrap_err();
    assert!(matches!(refused, Error::SameCluster { .. }), "{refused}");
    contexts.release_identity(&cluster_id(1)).await.unwrap();
    contexts.hold_identity(&cluster_id(TWIN), &world.uid(1)).await.unwrap();
    assert_eq!(contexts.identity_holder(&world.uid(1)).await.unwrap(), Some(cluster_id(TWIN)));
}
