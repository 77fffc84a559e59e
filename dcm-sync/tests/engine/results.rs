//! What clusters issue is stored once and never lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dcm_core::app_context::{Request, Stage, Step, TokenRequest};
use dcm_core::port::store::{Path, Prefix, StoreExt as _, Write};
use dcm_core::port::synchronizer::Synchronizer as _;
use dcm_sync::sim::{Verb, cluster_id};
use dcm_sync::tap::{Crossing, PortError, Tap, Tapped};
use serde_json::json;

use crate::fixture::*;

/// How long a write to a slow store takes: much longer than a request to a cluster.
const SLOW: Duration = Duration::from_millis(50);

/// What happens to the records of lanes.
#[derive(Default)]
struct Lanes {
    writes: AtomicU64,
    /// How many of the next reads fail.
    failing_reads: AtomicU64,
}

fn is_of_lane(path: &Path) -> bool {
    path.as_str().contains("lanes/")
}

/// Stands before the store: writes take their time, and some reads fail.
struct Slow {
    slowness: Duration,
    lanes: Arc<Lanes>,
}

impl Tap for Slow {
    async fn pass<T: Send, E: PortError>(
        &self,
        crossing: Crossing<'_>,
        call: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, E> {
        match crossing {
            Crossing::Get(path) if is_of_lane(path) => {
                let left = &self.lanes.failing_reads;
                let less =
                    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
                if less.is_ok() { Err(E::lost()) } else { call.await }
            }
            Crossing::Commit(batch) => {
                let lanes = batch.iter().filter(|write| is_of_lane(write.path())).count();
                self.lanes.writes.fetch_add(lanes as u64, Ordering::Relaxed);
                tokio::time::sleep(self.slowness).await;
                let written = call.await;
                tokio::time::sleep(self.slowness).await;
                written
            }
            _ => call.await,
        }
    }
}

fn world_with(slowness: Duration) -> (World, Arc<Lanes>) {
    let (mut world, lanes) = (World::new(1), Arc::new(Lanes::default()));
    let slow = Arc::new(Slow { slowness, lanes: lanes.clone() });
    world.store = Arc::new(Tapped::new(world.store, slow));
    (world, lanes)
}

fn token(name: &str) -> Step {
    let token =
        TokenRequest { namespace: "team".into(), service_account: "ci".into(), lifetime_seconds: Some(3600) };
    request(2, name, Request::Token(token))
}

fn tokens_issued(world: &World) -> u64 {
    world.requests(|log| log.count(Verb::IssueToken))
}

#[tokio::test(start_paused = true)]
async fn a_lane_is_stored_four_times_on_its_way() {
    let (world, lanes) = world_with(Duration::ZERO);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(
        lanes.writes.load(Ordering::Relaxed),
        3,
        "before the first request, with the token, and at the end"
    );
    engine.contexts().wait_until_tidy(&context_id()).await.unwrap();
    assert_eq!(lanes.writes.load(Ordering::Relaxed), 4, "when the answered request is cleared away");
}

#[tokio::test(start_paused = true)]
async fn what_is_issued_while_another_result_is_being_stored_is_stored_too() {
    let (world, _) = world_with(SLOW);
    let engine = world.engine();
    let steps = steps().into_iter().chain([token("second"), token("third")]).collect();
    engine.contexts().apply(&context(steps, [1])).await.unwrap();
    done(&engine, &context_id()).await;
    let results = engine.contexts().results(&context_id()).await.unwrap();
    let names: Vec<&str> = results[&cluster_id(1)].keys().map(|name| &**name).collect();
    assert_eq!(names, ["ci", "developer", "second", "third"]);
    assert_eq!(tokens_issued(&world), 3);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_answered_while_the_engine_stops_is_stored() {
    let (world, _) = world_with(SLOW);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    let issued = async {
        while tokens_issued(&world) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(SOON, issued).await.unwrap();
    engine.shutdown().await;
    let results = world.engine().contexts().results(&context_id()).await.unwrap();
    let stored = results.get(&cluster_id(1)).map_or(0, BTreeMap::len);
    assert!(stored >= 1, "{results:?}");
    let engine = world.engine();
    done(&engine, &context_id()).await;
    assert_eq!(tokens_issued(&world), 1, "the token was asked for again");
}

#[tokio::test(start_paused = true)]
async fn a_lane_that_somebody_else_wrote_is_read_until_that_succeeds() {
    let (world, lanes) = world_with(SLOW);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    let everything = Prefix::everything();
    let lane = async {
        loop {
            let entries = world.store.list_all(&everything).await.unwrap();
            match entries.into_iter().find(|entry| is_of_lane(&entry.path)) {
                Some(lane) => break lane,
                None => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
    };
    let lane = tokio::time::timeout(SOON, lane).await.unwrap();
    lanes.failing_reads.store(3, Ordering::Relaxed);
    let again = Write::Update { path: lane.path, version: lane.version, document: lane.document };
    world.store.write_one(again).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(lanes.failing_reads.load(Ordering::Relaxed), 0, "the engine had to read it");
}

/// The certificate is issued long before it is collected, beside a token.
fn steps_with_a_long_way() -> Vec<Step> {
    let map = |stage: u16| {
        let metadata = json!({"name": format!("map-{stage}"), "namespace": "team"});
        apply(stage, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}))
    };
    let late = |step: Step| if step.stage == Stage(2) { Step { stage: Stage(9), ..step } } else { step };
    steps().into_iter().map(late).chain((2..9).map(map)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_request_stays_on_the_cluster_until_its_certificate_is_stored() {
    let (world, _) = world_with(SLOW);
    let engine = world.engine();
    engine.contexts().apply(&context(steps_with_a_long_way(), [1])).await.unwrap();
    let removed = async {
        while world.requests(|log| log.count(Verb::Delete)) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(SOON, removed).await.unwrap();
    let results = engine.contexts().results(&context_id()).await.unwrap();
    let stored = results.get(&cluster_id(1)).is_some_and(|results| results.contains_key("developer"));
    assert!(stored, "{results:?}");
}
