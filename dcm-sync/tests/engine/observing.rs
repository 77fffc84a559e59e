//! Figures of an engine: what it did can be counted.

use std::time::Duration;

use dcm_core::port::cluster::Error;
use dcm_core::port::synchronizer::{Removal, Synchronizer as _};
use dcm_sync::engine::Engine;
use dcm_sync::engine::metrics::{Code, Metrics, Verb};
use dcm_sync::sim::{Link, cluster_id};
use serde_json::json;

use crate::fixture::*;

async fn metrics(engine: &Engine) -> Metrics {
    engine.metrics().await.unwrap()
}

/// How many requests there were to a cluster, of a verb and with an answer.
fn count(metrics: &Metrics, number: usize, verb: Verb, code: Code) -> u64 {
    let of_cluster = metrics.requests.get(&cluster_id(number));
    of_cluster.and_then(|counts| counts.get(&(verb, code))).copied().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn lanes_are_counted_by_state_and_requests_by_cluster_verb_and_code() {
    let world = World::new(3);
    let engine = world.engine();
    assert_eq!(metrics(&engine).await, Metrics::default());
    world.fleet.cluster(&cluster_id(3)).unwrap().set_link(Link::Cut);
    engine.contexts().apply(&context(steps(), [1, 2, 3])).await.unwrap();
    until(&engine, |status| {
        let done = status.lanes.values().filter(|lane| lane.state == dcm_core::status::LaneState::Done);
        done.count() == 2
            && status
                .lanes
                .values()
                .all(|lane| lane.cause.is_some() || lane.state == dcm_core::status::LaneState::Done)
    })
    .await;
    tokio::time::sleep(Duration::from_secs(40)).await;
    let seen = metrics(&engine).await;
    assert_eq!(seen.lanes, [("done", 2), ("working", 1)].into(), "{seen:#?}");
    assert_eq!((seen.clusters_held, seen.clusters_connected), (3, 2));
    assert!(seen.oldest_waiting.is_some_and(|age| age >= Duration::from_secs(40)), "{seen:#?}");
    // A namespace, a quota, two roles, an account and a certificate request.
    assert_eq!(count(&seen, 1, Verb::Create, Code::Success), 6, "{seen:#?}");
    assert_eq!(count(&seen, 1, Verb::Token, Code::Success), 1);
    assert!(count(&seen, 3, Verb::Connect, Code::Unreachable) > 1, "{seen:#?}");
    let asked: u64 = seen.requests.values().flat_map(|of_cluster| of_cluster.values()).sum();
    let timed: u64 = seen.durations.values().flat_map(|durations| durations.counts).sum();
    assert_eq!(asked, timed);
    assert_eq!(seen.events["created"], 10);
    // Two clusters at 2 ms for a request.
    assert_eq!(seen.durations[&Verb::Create].counts.iter().sum::<u64>(), 12);
}

#[tokio::test(start_paused = true)]
async fn abandoned_tombstones_and_drift_are_counted_and_an_idle_engine_asks_for_nothing() {
    let world = World::new(2);
    let engine = world.engine();
    let report = dcm_core::app_context::Drift::Report;
    let quota =
        apply_with(1, quota_body(&json!({"pods": "10"})), dcm_core::app_context::Existing::Refuse, report);
    engine.contexts().apply(&context(vec![apply(0, namespace_body("team")), quota], [1, 2])).await.unwrap();
    done(&engine, &context_id()).await;
    let idle = metrics(&engine).await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(metrics(&engine).await, idle, "nothing is counted, for nothing is done");
    let manifest = dcm_core::manifest::Manifest::new(quota_body(&json!({}))).unwrap();
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    let patch = json!({"spec": {"hard": {"pods": "3"}}});
    cluster.server(|server| server.edit_as("kubectl", manifest.kind(), manifest.key(), &patch)).unwrap();
    until(&engine, |status| status.lanes[&cluster_id(1)].cause.is_some()).await;
    assert_eq!(metrics(&engine).await.lanes_drifted, 1);
    world.fleet.cluster(&cluster_id(2)).unwrap().set_link(Link::Cut);
    let removal = Removal { deadline_seconds: Some(60), ..Removal::default() };
    engine.contexts().remove(&context_id(), removal).await.unwrap();
    done(&engine, &context_id()).await;
    let seen = metrics(&engine).await;
    assert_eq!(seen.lanes, [("abandoned", 1), ("removed", 1)].into());
    assert_eq!((seen.lanes_drifted, seen.oldest_waiting), (0, None));
    engine.shutdown().await;
    assert_eq!(engine.metrics().await, None);
}

#[test]
fn whatever_a_server_answers_there_are_few_codes() {
    let code = |code| Code::of::<()>(&Err(Error::Server { code, message: "".into() })).to_string();
    let codes: std::collections::BTreeSet<String> = (0..=u16::MAX).map(code).collect();
    assert_eq!(codes.into_iter().collect::<Vec<_>>(), ["408", "500", "502", "503", "504", "5xx"]);
}
