//! Answered requests are cleared away behind the work, whoever is left to do it.

use std::time::Duration;

use dcm_core::app_context::AppContext;
use dcm_core::name::ContextId;
use dcm_core::port::synchronizer::Synchronizer as _;
use dcm_sync::engine::{Engine, Options, What};
use dcm_sync::sim::{Faults, Verb, cluster_id};
use futures::StreamExt as _;
use serde_json::json;

use crate::fixture::*;

/// What the context has on a cluster when it is done.
const OBJECTS: usize = 5;

/// The writes to one cluster until a context is done: its objects, a request, an approval and a token.
const WRITES: u32 = 8;

/// The same with no budget left for clearing away, until a second has passed.
fn short_of_budget() -> Options {
    Options { writes_burst: WRITES, writes_per_second: 1, ..one_shot() }
}

async fn brought_about(engine: &Engine, world: &World, clusters: std::ops::RangeInclusive<usize>) {
    engine.contexts().apply(&context(steps(), clusters.clone())).await.unwrap();
    done(engine, &context_id()).await;
    for number in clusters {
        assert_eq!(world.owned(number).len(), OBJECTS + 1, "the answered request is there still");
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_stops_clears_answered_requests_away_before_it_gives_its_clusters_back() {
    let world = World::new(1);
    let engine = world.engine_with(short_of_budget());
    brought_about(&engine, &world, 1..=1).await;
    engine.shutdown().await;
    assert_eq!(world.owned(1).len(), OBJECTS);
    assert_eq!(world.writes(), u64::from(WRITES) + 1);
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_that_a_few_seconds_at_most_and_the_next_worker_does_it() {
    let world = World::new(1);
    let engine = world.engine_with(short_of_budget());
    brought_about(&engine, &world, 1..=1).await;
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    cluster.set_faults(Faults { too_many_requests: 1000, ..Faults::NONE });
    let started = tokio::time::Instant::now();
    engine.shutdown().await;
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    assert_eq!(world.owned(1).len(), OBJECTS + 1);
    cluster.set_faults(Faults::NONE);
    let next = world.engine_with(one_shot());
    tidied(&next).await;
    assert_eq!(world.owned(1).len(), OBJECTS);
}

#[tokio::test(start_paused = true)]
async fn what_a_dead_worker_did_not_clear_away_the_next_one_does_and_the_one_after_writes_nothing() {
    let world = World::new(2);
    let (engine, task) = world.mortal_engine(short_of_budget());
    brought_about(&engine, &world, 1..=2).await;
    task.abort();
    let by_hand = world.fleet.cluster(&cluster_id(2)).unwrap();
    by_hand.server(|server| {
        let request = server.objects().find(|one| &*one.kind.kind == "CertificateSigningRequest").unwrap();
        server.delete_as_other(&request.kind, &request.key).unwrap();
    });
    let before = world.writes();

    let next = world.engine_with(one_shot());
    next.contexts().apply(&context(steps(), 1..=2)).await.unwrap();
    tidied(&next).await;
    next.shutdown().await;
    assert_eq!((world.owned(1).len(), world.owned(2).len()), (OBJECTS, OBJECTS));
    assert_eq!(world.writes(), before + 1);

    let before = world.writes();
    let last = world.engine_with(one_shot());
    last.contexts().apply(&context(steps(), 1..=2)).await.unwrap();
    tidied(&last).await;
    tokio::time::sleep(SOON).await;
    assert_eq!(world.writes(), before);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_refuses_it_is_given_back_after_some_tries() {
    let world = World::new(1);
    let engine = world.engine_with(short_of_budget());
    let mut events = engine.events();
    brought_about(&engine, &world, 1..=1).await;
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    cluster.set_faults(Faults { forbidden: 1000, ..Faults::NONE });
    let given_back = async { while events.next().await.unwrap().what != What::Lost {} };
    tokio::time::timeout(SOON, given_back).await.unwrap();
    tidied(&engine).await;
    assert_eq!(world.owned(1).len(), OBJECTS + 1);
}

#[tokio::test(start_paused = true)]
async fn it_lets_the_work_go_before_that_somebody_waits_for() {
    let world = World::new(1);
    let engine = world.engine_with(Options { cluster_requests_max: 4, ..Options::default() });
    let mut many = vec![apply(0, namespace_body("other"))];
    many.extend((0..100).map(|number| {
        let metadata = json!({"name": format!("map-{number}"), "namespace": "other"});
        apply(1, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}))
    }));
    let other = AppContext { id: ContextId::new("lc-2").unwrap(), ..context(many, [1]) };
    let without_token = steps().into_iter().take(6).collect();
    engine.contexts().apply(&context(without_token, [1])).await.unwrap();
    engine.contexts().apply(&other).await.unwrap();
    done(&engine, &other.id).await;
    tidied(&engine).await;
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    let verbs: Vec<Verb> = cluster.server(|server| server.requests().lines().map(|line| line.verb).collect());
    let place = |verb| verbs.iter().rposition(|found| *found == verb).unwrap();
    assert!(place(Verb::Delete) > place(Verb::Create), "{verbs:?}");
}
