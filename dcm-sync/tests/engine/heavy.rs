//! Objects that take long to be compared with what is desired of them hold up nothing but their own lane.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dcm_core::name::ContextId;
use dcm_core::port::synchronizer::Synchronizer as _;
use dcm_core::port::threads::Threads;
use dcm_core::status::Progress;
use dcm_sync::engine::Options;
use dcm_sync::sim::cluster_id;
use futures::FutureExt as _;
use futures::channel::oneshot;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::fixture::*;

/// Work that waits for its thread, with the sender that ends the wait for it.
type Waiting = Vec<(Box<dyn FnOnce() + Send>, oneshot::Sender<()>)>;

/// Threads on which all work waits until it is let go.
#[derive(Default)]
struct Held {
    waiting: Mutex<Option<Waiting>>,
    begun: Notify,
}

impl Held {
    fn new() -> Arc<Self> {
        Arc::new(Self { waiting: Mutex::new(Some(Vec::new())), begun: Notify::new() })
    }

    /// Does what waits, and nothing that comes later.
    fn step(&self) {
        let waiting = self.waiting.lock().unwrap().as_mut().map(std::mem::take);
        for (work, done) in waiting.unwrap_or_default() {
            work();
            let _ = done.send(());
        }
    }

    /// Does what waits, and from now on all at once.
    fn let_go(&self) {
        for (work, done) in self.waiting.lock().unwrap().take().unwrap_or_default() {
            work();
            let _ = done.send(());
        }
    }
}

impl Threads for Held {
    fn compute(&self, work: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()> {
        let (done, wait) = oneshot::channel();
        match &mut *self.waiting.lock().unwrap() {
            Some(waiting) => {
                waiting.push((work, done));
                self.begun.notify_one();
            }
            None => {
                work();
                let _ = done.send(());
            }
        }
        wait.map(drop).boxed()
    }

    fn run(&self, task: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        task
    }
}

/// A limit under which a namespace is, and a ConfigMap of many entries is not.
fn limited() -> Options {
    Options { compared_values_max: 100, ..Options::default() }
}

fn entries(value: &str) -> Value {
    Value::Object((0..200).map(|number| (format!("key-{number}"), json!(value))).collect::<Map<_, _>>())
}

fn large_map() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large", "namespace": "team"},
        "data": entries("ours")})
}

fn data(world: &World) -> Value {
    let (kind, key) = config_map("team", "large");
    world.body(1, &kind, &key).unwrap()["data"].clone()
}

#[tokio::test(start_paused = true)]
async fn another_lane_of_the_same_cluster_goes_on_while_a_large_object_is_compared() {
    let (world, threads) = (World::new(1), Held::new());
    let engine = world.engine_on(threads.clone(), limited());
    let heavy = context(vec![apply(0, namespace_body("team")), apply(1, large_map())], [1]);
    engine.contexts().apply(&heavy).await.unwrap();
    tokio::time::timeout(SOON, threads.begun.notified()).await.unwrap();
    let mut other = context(vec![apply(0, namespace_body("other"))], [1]);
    other.id = ContextId::new("lc-2").unwrap();
    engine.contexts().apply(&other).await.unwrap();
    done(&engine, &other.id).await;
    let status = engine.contexts().status(&heavy.id).await.unwrap().unwrap();
    assert_ne!(status.progress, Progress::Done, "it is not known what was made of it");
    threads.let_go();
    done(&engine, &heavy.id).await;
    engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn what_changes_while_it_is_compared_is_found_afterwards() {
    let (world, threads) = (World::new(1), Held::new());
    let engine = world.engine_on(threads.clone(), limited());
    let heavy = context(vec![apply(0, namespace_body("team")), apply(1, large_map())], [1]);
    engine.contexts().apply(&heavy).await.unwrap();
    tokio::time::timeout(SOON, threads.begun.notified()).await.unwrap();
    let (kind, key) = config_map("team", "large");
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    for theirs in ["theirs", "theirs-again"] {
        let patch = json!({"data": {"key-7": theirs}});
        cluster.server(|server| server.edit_as("person", &kind, &key, &patch)).unwrap();
    }
    threads.let_go();
    until_so(|| data(&world) == entries("ours")).await;
    done(&engine, &heavy.id).await;
    engine.shutdown().await;
}

/// A limit under which one of the maps is, and two are not.
fn limited_to_one() -> Options {
    Options { compared_values_max: 600, ..Options::default() }
}

#[tokio::test(start_paused = true)]
async fn a_page_of_large_objects_is_taken_however_often_one_of_them_is_wanted_otherwise_meanwhile() {
    let world = World::new(1);
    let of = |number: u32, value: &str| {
        let namespace = format!("team-{number}");
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large", "namespace": namespace},
            "data": entries(value)});
        let mut context = context(vec![apply(0, namespace_body(&namespace)), apply(1, map)], [1]);
        context.id = ContextId::new(format!("lc-{number}")).unwrap();
        context
    };
    let threads = Held::new();
    let engine = world.engine_on(threads.clone(), limited_to_one());
    for number in [1, 2] {
        engine.contexts().apply(&of(number, "ours")).await.unwrap();
        done(&engine, &of(number, "ours").id).await;
    }
    // Both maps are on one page of the list after that.
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    cluster.restart();
    let (kind, key) = config_map("team-1", "large");
    let patch = json!({"data": {"key-7": "theirs"}});
    cluster.server(|server| server.edit_as("person", &kind, &key, &patch)).unwrap();
    // Each time that the page is compared, something else is wanted of one of the maps by then.
    for round in 0..10 {
        let _ = tokio::time::timeout(SOON, threads.begun.notified()).await;
        let wanted = of(2, &format!("wanted-{round}"));
        engine.contexts().apply(&wanted).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        threads.step();
    }
    assert_eq!(world.body(1, &kind, &key).unwrap()["data"], entries("ours"), "the page was not taken");
    threads.let_go();
    for number in [1, 2] {
        done(&engine, &of(number, "ours").id).await;
    }
    engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_stops_waits_for_what_is_compared() {
    let (world, threads) = (World::new(1), Held::new());
    let engine = world.engine_on(threads.clone(), limited());
    let heavy = context(vec![apply(0, namespace_body("team")), apply(1, large_map())], [1]);
    engine.contexts().apply(&heavy).await.unwrap();
    tokio::time::timeout(SOON, threads.begun.notified()).await.unwrap();
    let stopping = engine.shutdown();
    let mut stopping = std::pin::pin!(stopping);
    assert!(tokio::time::timeout(SOON, &mut stopping).await.is_err(), "what was made is not recorded");
    threads.let_go();
    tokio::time::timeout(SOON, stopping).await.unwrap();
    let next = world.engine();
    done(&next, &heavy.id).await;
    next.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn objects_seen_before_their_context_is_read_are_compared_beside_the_loop_too() {
    let world = World::new(1);
    let first = world.engine();
    let heavy = context(vec![apply(0, namespace_body("team")), apply(1, large_map())], [1]);
    first.contexts().apply(&heavy).await.unwrap();
    done(&first, &heavy.id).await;
    first.shutdown().await;
    let (kind, key) = config_map("team", "large");
    let patch = json!({"data": {"key-7": "theirs"}});
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    cluster.server(|server| server.edit_as("person", &kind, &key, &patch)).unwrap();
    let threads = Held::new();
    let second = world.engine_on(threads.clone(), limited());
    tokio::time::timeout(SOON, threads.begun.notified()).await.unwrap();
    threads.let_go();
    until_so(|| data(&world) == entries("ours")).await;
    second.shutdown().await;
}
