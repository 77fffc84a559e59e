//! Several engines on one store, and engines that die.

use std::collections::BTreeMap;
use std::time::Duration;

use dcm_core::port::store::{Path, Prefix, StoreExt as _};
use dcm_core::port::synchronizer::{Removal, Synchronizer as _};
use dcm_sync::engine::{Acquire, Options, What};
use dcm_sync::sim::{Faults, Verb, cluster_id};

use futures::{FutureExt as _, StreamExt as _};
use serde_json::Value;

use crate::fixture::*;

/// How many clusters each worker has; an empty name stands for nobody.
async fn shares(world: &World) -> BTreeMap<String, usize> {
    let shards = world.store.list_all(&Prefix::below(&Path::new("shards").unwrap())).await.unwrap();
    let mut shares = BTreeMap::new();
    for shard in shards {
        let record: Value = shard.document.read().unwrap();
        *shares.entry(record["owner"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }
    shares
}

/// Waits until so many workers share the clusters evenly; how many each has.
async fn shared_by(world: &World, workers: usize) -> BTreeMap<String, usize> {
    let shared = async {
        loop {
            let shares = shares(world).await;
            let (least, most) = (shares.values().min().unwrap_or(&0), shares.values().max().unwrap_or(&0));
            if shares.len() == workers && !shares.contains_key("") && most - least <= 1 {
                return shares;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    tokio::time::timeout(SOON, shared).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn two_engines_do_the_work_once() {
    let world = World::new(3);
    let (one, other) = (world.engine(), world.engine());
    one.contexts().apply(&context(steps(), 1..=3)).await.unwrap();
    done(&other, &context_id()).await;
    // Five objects and a request, an approval, a token, and the answered request cleared away.
    tokio::time::sleep(SOON).await;
    assert_eq!(world.writes(), 3 * 9);
}

#[tokio::test(start_paused = true)]
async fn a_graceful_stop_hands_over_at_once() {
    let world = World::new(1);
    let one = world.engine();
    one.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&one, &context_id()).await;
    one.shutdown().await;
    let started = tokio::time::Instant::now();
    let other = world.engine();
    other.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&other, &context_id()).await;
    // The namespace alone takes five seconds.
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_dead_engines_clusters_are_taken_over_after_its_lease() {
    let world = World::new(1);
    let (one, task) = world.mortal_engine(Options::default());
    one.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&one, &context_id()).await;
    task.abort();
    let other = world.engine();
    let mut events = other.events();
    event(&mut events, |what| *what == What::TakenOver).await;
    let mut changed = steps();
    changed.remove(3);
    other.contexts().apply(&context(changed, [1])).await.unwrap();
    done(&other, &context_id()).await;
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    let agents: Vec<String> = cluster.server(|server| {
        let deletions = server.requests().lines().filter(|line| line.verb == Verb::Delete);
        deletions.map(|line| line.agent.to_string()).collect()
    });
    assert!(agents.last().unwrap().ends_with("fence=2"), "{agents:?}");
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_waits_for_its_own_changes_gives_its_clusters_back() {
    let world = World::new(1);
    let acquire = Acquire::PendingOf([context_id()].into());
    let one = world.engine_with(Options { acquire: acquire.clone(), ..Options::default() });
    one.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&one, &context_id()).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let other = world.engine_with(Options { acquire, ..Options::default() });
    let started = tokio::time::Instant::now();
    let mut changed = steps();
    changed.remove(3);
    other.contexts().apply(&context(changed, [1])).await.unwrap();
    done(&other, &context_id()).await;
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn the_sessions_of_a_store_tell_who_serves_it() {
    let world = World::new(1);
    let serving = world.engine();
    let acquire = Acquire::PendingOf([context_id()].into());
    let waiting = world.engine_with(Options { acquire, ..Options::default() });
    tokio::time::sleep(Duration::from_secs(30)).await;
    let sessions = serving.contexts().workers().await.unwrap();
    let mut serves: Vec<bool> = sessions.iter().map(|session| session.serves).collect();
    serves.sort_unstable();
    assert_eq!(serves, [false, true]);
    let lease = jiff::SignedDuration::try_from(Options::default().lease).unwrap();
    let now = world.clock.now();
    assert!(sessions.iter().all(|session| now.duration_since(session.renewed) < lease), "{sessions:?}");
    serving.shutdown().await;
    waiting.shutdown().await;
    assert_eq!(serving.contexts().workers().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn work_spreads_when_a_worker_joins_and_moves_no_more_than_it_has_to() {
    let world = World::new(200);
    let one = world.engine();
    one.contexts().apply(&context(steps(), 1..=200)).await.unwrap();
    done(&one, &context_id()).await;
    let first = shared_by(&world, 1).await;
    tokio::time::sleep(SOON).await;
    let (writes, owner) = (world.writes(), first.keys().next().unwrap());
    let mut lost = one.events();
    let other = world.engine();
    assert_eq!(shared_by(&world, 2).await[owner], 100);
    let third = world.engine();
    assert_eq!(shared_by(&world, 3).await.values().sum::<usize>(), 200);
    let mut moved = 0;
    while let Some(Some(event)) = lost.next().now_or_never() {
        moved += usize::from(event.what == What::Lost);
    }
    assert!((132..=134).contains(&moved), "{moved}");
    assert_eq!(world.writes(), writes, "to the clusters");
    third.shutdown().await;
    other.shutdown().await;
    assert_eq!(shared_by(&world, 1).await[owner], 200);
}

#[tokio::test(start_paused = true)]
async fn workers_that_start_together_share_the_clusters() {
    let world = World::new(30);
    let workers = [world.engine(), world.engine(), world.engine()];
    workers[0].contexts().apply(&context(steps(), 1..=30)).await.unwrap();
    done(&workers[0], &context_id()).await;
    assert!(shared_by(&world, 3).await.values().all(|count| *count == 10));
}

#[tokio::test(start_paused = true)]
async fn a_worker_lives_as_long_as_its_own_lease_whatever_that_of_others_is() {
    let world = World::new(2);
    let lease = |seconds| Options { lease: Duration::from_secs(seconds), ..Options::default() };
    let (patient, hasty) = (world.engine_with(lease(60)), world.engine_with(lease(1)));
    patient.contexts().apply(&context(steps(), 1..=2)).await.unwrap();
    done(&patient, &context_id()).await;
    let shared = shared_by(&world, 2).await;
    let mut events = hasty.events();
    tokio::time::sleep(SOON).await;
    assert_eq!(shares(&world).await, shared);
    while let Some(Some(event)) = events.next().now_or_never() {
        assert!(!matches!(event.what, What::TakenOver), "{event:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_given_back_to_a_worker_that_dies_is_taken_back_before_its_lease_ends() {
    let world = World::new(2);
    let one = world.engine();
    one.contexts().apply(&context(steps(), 1..=2)).await.unwrap();
    done(&one, &context_id()).await;
    let mut events = one.events();
    let (_other, task) = world.mortal_engine(Options::default());
    event(&mut events, |what| *what == What::Lost).await;
    task.abort();
    let started = tokio::time::Instant::now();
    // Either it had been taken, or it lay there.
    event(&mut events, |what| *what == What::Acquired).await;
    assert!(started.elapsed() < Options::default().lease, "{:?}", started.elapsed());
    shared_by(&world, 1).await;
}

#[tokio::test(start_paused = true)]
async fn what_a_worker_had_no_answer_to_when_it_stopped_the_next_one_waits_for() {
    let world = World::new(1);
    let one = world.engine();
    one.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&one, &context_id()).await;
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    cluster.set_faults(Faults { lost_reply: 1000, ..Faults::NONE });
    let mut events = one.events();
    let mut changed = steps();
    changed.remove(3);
    one.contexts().apply(&context(changed, [1])).await.unwrap();
    event(&mut events, |what| matches!(what, What::Hindered(_))).await;
    one.shutdown().await;
    cluster.set_faults(Faults::NONE);
    let shards = world.store.list_all(&Prefix::below(&Path::new("shards").unwrap())).await.unwrap();
    let shard: Value = shards[0].document.read().unwrap();
    assert!(shard["unansweredMs"].as_u64() > Some(0) && shard.get("owner").is_none(), "{shard}");
    let other = world.engine();
    let started = tokio::time::Instant::now();
    other.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&other, &context_id()).await;
    assert!(started.elapsed() >= Options::default().late_request_limit, "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_stops_leaves_its_clusters_to_those_that_stay() {
    let world = World::new(4);
    let (one, other) = (world.engine(), world.engine());
    one.contexts().apply(&context(steps(), 1..=4)).await.unwrap();
    done(&one, &context_id()).await;
    shared_by(&world, 2).await;
    let started = tokio::time::Instant::now();
    one.shutdown().await;
    shared_by(&world, 1).await;
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    done(&other, &context_id()).await;
}
