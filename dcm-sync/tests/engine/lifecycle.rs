//! Bringing about, changing and removing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use dcm_core::app_context::Generation;
use dcm_core::port::store::{Path, Prefix, StoreExt as _, Write};
use dcm_core::port::synchronizer::{Issued, Removal, STOP_LIMIT, Synchronizer as _};
use dcm_core::status::{LaneState, ObjectState};
use dcm_sync::engine::{Engine, Options};
use dcm_sync::sim::{Link, RequestLog, cluster_id};
use futures::{FutureExt as _, StreamExt as _};
use serde_json::json;

use crate::fixture::*;
use crate::slow::world_with;

#[tokio::test(start_paused = true)]
async fn a_context_is_brought_about_and_removed_without_a_rest() {
    let world = World::new(3);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), 1..=3)).await.unwrap();
    let status = done(&engine, &context_id()).await;
    assert_eq!(status.lanes.len(), 3);
    for lane in status.lanes.values() {
        assert_eq!((lane.state, lane.objects.len()), (LaneState::Done, 5));
        assert!(lane.objects.iter().all(|object| object.state == ObjectState::Applied));
    }
    let results = engine.contexts().results(&context_id()).await.unwrap();
    for cluster in 1..=3 {
        let results = &results[&cluster_id(cluster)];
        assert!(matches!(results["developer"], Issued::Certificate { .. }));
        assert!(matches!(results["ci"], Issued::Token { .. }));
        for (name, issued) in results {
            let one = engine.contexts().result(&context_id(), &cluster_id(cluster), name).await;
            assert_eq!(one.unwrap().as_ref(), Some(issued));
        }
        let none = engine.contexts().result(&context_id(), &cluster_id(cluster), "nobody").await;
        assert_eq!(none.unwrap(), None);
    }
    engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&engine, &context_id()).await;
    for cluster in 1..=3 {
        assert_eq!(world.owned(cluster), Vec::<String>::new());
    }
    engine.contexts().forget(&context_id()).await.unwrap();
    assert_eq!(engine.contexts().status(&context_id()).await.unwrap(), None);
    // Nor does the engine write anything of it again.
    tokio::time::sleep(SOON).await;
    let left = world.store.list_all(&Prefix::everything()).await.unwrap();
    let left: Vec<String> = left.into_iter().map(|entry| entry.path.to_string()).collect();
    let stays = |path: &String| {
        ["forgotten", "identities/", "proofs", "shards/", "workers/"]
            .iter()
            .any(|room| path.starts_with(room))
    };
    assert!(left.iter().all(stays), "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn an_unchanged_context_is_applied_again_with_a_read_of_each_object_and_no_write() {
    let world = World::new(2);
    let engine = world.engine();
    let first = engine.contexts().apply(&context(steps(), 1..=2)).await.unwrap();
    done(&engine, &context_id()).await;
    tokio::time::sleep(SOON).await;
    let count = || (world.writes(), world.requests(RequestLog::reads));
    let before = count();
    let again = engine.contexts().apply(&context(steps(), 1..=2)).await.unwrap();
    done(&engine, &context_id()).await;
    tokio::time::sleep(SOON).await;
    assert_eq!((first, again), (Generation(1), Generation(1)));
    let objects: usize = [1, 2].map(|number| world.owned(number).len()).iter().sum();
    let reads = before.1 + u64::try_from(objects).unwrap();
    assert_eq!(count(), (before.0, reads), "{objects} objects");
}

#[tokio::test(start_paused = true)]
async fn one_changed_object_is_one_write_a_cluster() {
    let world = World::new(2);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), 1..=2)).await.unwrap();
    done(&engine, &context_id()).await;
    tokio::time::sleep(SOON).await;
    let before = world.writes();
    let mut changed = steps();
    changed[2] = apply(1, role_body("reader", &["get"]));
    engine.contexts().apply(&context(changed, 1..=2)).await.unwrap();
    done(&engine, &context_id()).await;
    tokio::time::sleep(SOON).await;
    assert_eq!(world.writes() - before, 2);
}

#[tokio::test(start_paused = true)]
async fn what_is_taken_out_is_gone_from_the_cluster() {
    let world = World::new(1);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    let mut fewer = steps();
    fewer[1] = apply(1, quota_body(&json!({"pods": "10"})));
    fewer.remove(3);
    engine.contexts().apply(&context(fewer, [1])).await.unwrap();
    done(&engine, &context_id()).await;
    assert!(!world.owned(1).iter().any(|key| key.ends_with("team/writer")));
    let quota = dcm_core::manifest::Manifest::new(quota_body(&json!({}))).unwrap();
    let body = world.body(1, quota.kind(), quota.key()).unwrap();
    assert_eq!(body["spec"]["hard"], json!({"pods": "10"}));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_is_added_and_taken_away_and_the_others_are_only_read() {
    let world = World::new(3);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), 1..=2)).await.unwrap();
    done(&engine, &context_id()).await;
    tokio::time::sleep(SOON).await;
    let count = |number: usize| {
        let cluster = world.fleet.cluster(&cluster_id(number)).unwrap();
        cluster.server(|server| server.requests().writes())
    };
    let before = (count(1), count(2));
    engine.contexts().apply(&context(steps(), 1..=3)).await.unwrap();
    done(&engine, &context_id()).await;
    tokio::time::sleep(SOON).await;
    assert_eq!((count(1), count(2)), before);
    engine.contexts().apply(&context(steps(), 2..=3)).await.unwrap();
    let status = done(&engine, &context_id()).await;
    tokio::time::sleep(SOON).await;
    assert_eq!(status.lanes.keys().cloned().collect::<Vec<_>>(), [cluster_id(2), cluster_id(3)]);
    assert_eq!(world.owned(1), Vec::<String>::new());
    assert_eq!(count(2), before.1);
}

#[tokio::test(start_paused = true)]
async fn a_removed_certificate_request_means_nothing() {
    let world = World::new(1);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    // The cluster's own cleaner looks hourly; ours are gone long before.
    tokio::time::sleep(Duration::from_secs(3 * 3600)).await;
    let before = world.writes();
    let mut reordered = steps();
    reordered.swap(2, 3);
    engine.contexts().apply(&context(reordered, [1])).await.unwrap();
    done(&engine, &context_id()).await;
    tokio::time::sleep(SOON).await;
    assert_eq!(world.writes(), before);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_context_sends_nothing_until_it_is_resumed() {
    let world = World::new(1);
    let engine = world.engine();
    world.fleet.cluster(&cluster_id(1)).unwrap().set_link(Link::Cut);
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    engine.contexts().stop(&context_id(), STOP_LIMIT).await.unwrap();
    world.fleet.cluster(&cluster_id(1)).unwrap().set_link(Link::Up);
    tokio::time::sleep(SOON).await;
    assert_eq!(world.writes(), 0);
    let status = engine.contexts().status(&context_id()).await.unwrap().unwrap();
    assert!(status.paused);
    engine.contexts().resume(&context_id()).await.unwrap();
    done(&engine, &context_id()).await;
}

#[tokio::test(start_paused = true)]
async fn a_context_whose_manifests_were_lost_is_removed_all_the_same() {
    let world = World::new(1);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    let manifests = Prefix::below(&Path::new("manifests").unwrap());
    for entry in world.store.list_all(&manifests).await.unwrap() {
        world.store.write_one(Write::Delete { path: entry.path, version: entry.version }).await.unwrap();
    }
    engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(world.owned(1), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_context_that_is_forgotten_and_made_anew_at_once_is_brought_about() {
    let world = World::new(2);
    let engine = world.engine();
    for _ in 0..2 {
        for clusters in [1..=1, 1..=2] {
            engine.contexts().apply(&context(steps(), clusters)).await.unwrap();
            done(&engine, &context_id()).await;
        }
        engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
        done(&engine, &context_id()).await;
        engine.contexts().forget(&context_id()).await.unwrap();
    }
    assert_eq!(world.claimed("team").await, BTreeSet::new());
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_needed_again_while_it_is_given_up_stays_claimed() {
    // A namespace takes 5 s to go.
    for wait in (0..40).chain(5000..5040) {
        let (world, _) = world_with(Duration::from_millis(3));
        let engine = world.engine();
        let other = || context(vec![apply(0, namespace_body("other"))], [1]);
        let both = || context(vec![apply(0, namespace_body("other")), apply(0, namespace_body("team"))], [1]);
        engine.contexts().apply(&both()).await.unwrap();
        done(&engine, &context_id()).await;
        engine.contexts().apply(&other()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(wait)).await;
        engine.contexts().apply(&both()).await.unwrap();
        done(&engine, &context_id()).await;
        engine.shutdown().await;
        assert_eq!(world.claimed("team").await, [cluster_id(1).to_string()].into(), "after {wait} ms");
    }
}

/// Who waits for events: notes, when it is woken, whether the engine has ended by then.
struct Waiting {
    engine: Engine,
    has_ended: AtomicBool,
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.has_ended.store(self.engine.stopped().now_or_never().is_some(), Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn events_end_when_the_engine_has_stopped_or_broken_off_and_not_a_moment_before() {
    for is_stopped in [true, false] {
        let (engine, task) = World::new(0).mortal_engine(Options::default());
        let mut events = engine.events();
        // It takes the subscription.
        tokio::time::sleep(SOON).await;
        let waiting = Arc::new(Waiting { engine: engine.clone(), has_ended: AtomicBool::new(false) });
        let waker = Waker::from(waiting.clone());
        assert!(events.poll_next_unpin(&mut Context::from_waker(&waker)).is_pending());
        if is_stopped {
            engine.shutdown().await;
        } else {
            task.abort();
        }
        assert_eq!(engine.stopped().await.is_ok(), is_stopped);
        let _ = task.await;
        assert_eq!(events.next().await, None);
        assert!(waiting.has_ended.load(Ordering::Relaxed), "stopped: {is_stopped}");
    }
}
