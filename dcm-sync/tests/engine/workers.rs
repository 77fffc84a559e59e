//! Several engines on one store, and engines that die.

use std::time::Duration;

use dcm_core::port::synchronizer::{Removal, Synchronizer as _};
use dcm_sync::engine::{Acquire, Options, What};
use dcm_sync::sim::{Verb, cluster_id};

use crate::fixture::*;

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
