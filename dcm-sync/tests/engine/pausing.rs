//! Work that is paused, of an app context or on a cluster: what is under way is waited for, and nothing begins after it.

use std::time::Duration;

use dcm_core::port::synchronizer::{Error, Removal, STOP_LIMIT, Synchronizer as _};
use dcm_core::status::{LaneState, Reason};
use dcm_sync::engine::{Engine, Options, What};
use dcm_sync::sim::{Link, RequestLog, cluster_id};

use crate::fixture::*;

/// Longer than a stop waits for a worker that shows no sign of life.
const LEASE: Duration = Duration::from_secs(10);

fn all(log: &RequestLog) -> u64 {
    log.reads() + log.writes()
}

/// How many requests of any kind a cluster has heard.
fn heard(world: &World, number: usize) -> u64 {
    world.fleet.cluster(&cluster_id(number)).unwrap().server(|server| all(server.requests()))
}

#[tokio::test(start_paused = true)]
async fn a_stop_of_a_context_returns_when_no_worker_has_a_request_under_way() {
    let world = World::new(4);
    let engines = [world.engine(), world.engine()];
    let contexts = engines[0].contexts();
    contexts.apply(&context(steps(), 1..=4)).await.unwrap();
    done(&engines[0], &context_id()).await;
    for number in 1..=4 {
        world.fleet.cluster(&cluster_id(number)).unwrap().set_link(Link::Delay(Duration::from_secs(4)));
    }
    contexts.apply(&context(vec![apply(0, namespace_body("other"))], 1..=4)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let before = world.writes();
    let begun = tokio::time::Instant::now();
    contexts.stop(&context_id(), STOP_LIMIT).await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(4), "requests are under way, and are not waited for");
    let heard = world.writes();
    assert!(heard > before, "what was under way arrived");
    tokio::time::sleep(SOON).await;
    assert_eq!(world.writes(), heard, "something began after the stop had returned");
    contexts.resume(&context_id()).await.unwrap();
    done(&engines[0], &context_id()).await;
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_starts_after_a_stop_begins_nothing() {
    let world = World::new(2);
    let first = world.engine();
    first.contexts().apply(&context(steps(), [1, 2])).await.unwrap();
    first.contexts().stop(&context_id(), STOP_LIMIT).await.unwrap();
    first.shutdown().await;
    let before = world.writes();
    let second = world.engine();
    tokio::time::sleep(SOON).await;
    assert_eq!(world.writes(), before);
    second.contexts().resume(&context_id()).await.unwrap();
    done(&second, &context_id()).await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_a_dead_worker_as_long_as_its_lease_and_names_it_before() {
    let world = World::new(1);
    let (dead, task) = world.mortal_engine(Options { lease: LEASE, ..Options::default() });
    dead.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&dead, &context_id()).await;
    task.abort();
    let stopped = dead.contexts().stop(&context_id(), LEASE / 2).await;
    let Err(Error::StillUnderWay { workers, .. }) = stopped else { panic!("{stopped:?}") };
    assert_eq!(workers.len(), 1);
    let status = dead.contexts().status(&context_id()).await.unwrap().unwrap();
    assert!(status.paused, "the work is paused all the same");
    let begun = tokio::time::Instant::now();
    dead.contexts().stop(&context_id(), STOP_LIMIT).await.unwrap();
    assert!(begun.elapsed() <= LEASE + Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_when_somebody_else_resumes_the_work() {
    let world = World::new(1);
    let (engine, task) = world.mortal_engine(Options::default());
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    task.abort();
    let contexts = engine.contexts().clone();
    let stop = tokio::spawn(async move { contexts.stop(&context_id(), STOP_LIMIT).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    engine.contexts().resume(&context_id()).await.unwrap();
    assert!(matches!(stop.await.unwrap(), Err(Error::Resumed)));
}

/// A context that is done on two clusters, of which the first is stopped then.
async fn with_one_of_two_stopped() -> (World, Engine) {
    let world = World::new(2);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1, 2])).await.unwrap();
    done(&engine, &context_id()).await;
    engine.contexts().stop_cluster(&cluster_id(1), STOP_LIMIT).await.unwrap();
    (world, engine)
}

#[tokio::test(start_paused = true)]
async fn a_stopped_cluster_hears_nothing_and_the_others_go_on() {
    let (world, engine) = with_one_of_two_stopped().await;
    let contexts = engine.contexts();
    assert_eq!(contexts.stopped_clusters().await.unwrap(), [cluster_id(1)].into());
    let before = heard(&world, 1);
    let mut other = steps();
    other.push(apply(0, namespace_body("other")));
    contexts.apply(&context(other, [1, 2])).await.unwrap();
    let status = until(&engine, |status| status.lanes[&cluster_id(2)].state == LaneState::Done).await;
    assert_ne!(status.lanes[&cluster_id(1)].state, LaneState::Done);
    let paused = |status: &dcm_core::status::ContextStatus| {
        let cause = status.lanes[&cluster_id(1)].cause.as_ref();
        cause.is_some_and(|cause| cause.reason == Reason::Paused)
    };
    until(&engine, paused).await;
    tokio::time::sleep(SOON).await;
    assert_eq!(heard(&world, 1), before, "not even a read");
    contexts.resume_cluster(&cluster_id(1)).await.unwrap();
    done(&engine, &context_id()).await;
    assert!(contexts.stopped_clusters().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_stop_of_a_cluster_waits_for_what_is_under_way_there() {
    let world = World::new(1);
    let engine = world.engine();
    let contexts = engine.contexts();
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    contexts.apply(&context(vec![apply(0, namespace_body("team"))], [1])).await.unwrap();
    done(&engine, &context_id()).await;
    cluster.set_link(Link::Delay(Duration::from_secs(4)));
    contexts.apply(&context(steps(), [1])).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = heard(&world, 1);
    contexts.stop_cluster(&cluster_id(1), STOP_LIMIT).await.unwrap();
    let arrived = heard(&world, 1);
    assert!(arrived > before, "nothing was under way");
    tokio::time::sleep(SOON).await;
    assert_eq!(heard(&world, 1), arrived);
    // What was answered while it was stopped is known: it goes on from there.
    contexts.resume_cluster(&cluster_id(1)).await.unwrap();
    done(&engine, &context_id()).await;
}

#[tokio::test(start_paused = true)]
async fn the_next_owner_of_a_stopped_cluster_keeps_it_so() {
    let world = World::new(1);
    let (first, task) = world.mortal_engine(Options::default());
    first.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&first, &context_id()).await;
    task.abort();
    // Before its lease is over, it is still the owner.
    first.contexts().stop_cluster(&cluster_id(1), STOP_LIMIT).await.unwrap();
    let before = heard(&world, 1);
    let second = world.engine();
    let mut events = second.events();
    event(&mut events, |what| *what == What::Acquired).await;
    tokio::time::sleep(SOON).await;
    assert_eq!(heard(&world, 1), before);
    second.contexts().stop_cluster(&cluster_id(1), STOP_LIMIT).await.unwrap();
    second.contexts().resume_cluster(&cluster_id(1)).await.unwrap();
    event(&mut events, |what| *what == What::Connected).await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_nobody_has_to_do_with_yet_can_be_stopped() {
    let world = World::new(1);
    let engine = world.engine();
    engine.contexts().stop_cluster(&cluster_id(1), STOP_LIMIT).await.unwrap();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    tokio::time::sleep(SOON).await;
    assert_eq!(heard(&world, 1), 0);
    engine.contexts().resume_cluster(&cluster_id(1)).await.unwrap();
    done(&engine, &context_id()).await;
}

#[tokio::test(start_paused = true)]
async fn a_removal_from_a_stopped_cluster_ends_by_its_deadline() {
    let (world, engine) = with_one_of_two_stopped().await;
    let contexts = engine.contexts();
    let removal = Removal { deadline_seconds: Some(60), ..Removal::default() };
    contexts.remove(&context_id(), removal).await.unwrap();
    let status = done(&engine, &context_id()).await;
    assert_eq!(status.lanes[&cluster_id(1)].state, LaneState::Abandoned);
    assert_eq!(world.owned(2), Vec::<String>::new());
    contexts.resume_cluster(&cluster_id(1)).await.unwrap();
    until(&engine, |status| status.lanes[&cluster_id(1)].state == LaneState::Removed).await;
    assert_eq!(world.owned(1), Vec::<String>::new());
}
