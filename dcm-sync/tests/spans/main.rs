//! Spans of an engine: what it did can be followed. A program of its own, since what is recorded is decided once for all
//! threads of a program.
#![allow(clippy::unwrap_used, unreachable_pub)]
#![allow(dead_code, reason = "what tests of the engine have in common, of which this needs a part")]

#[path = "../engine/fixture.rs"]
mod fixture;

use std::sync::Mutex;

use dcm_core::port::synchronizer::Synchronizer as _;
use dcm_sync::sim::cluster_id;
use serde_json::Value;
use tracing_subscriber::fmt::MakeWriter as _;

use crate::fixture::*;

/// What is logged, by the one test of this program.
static LOGGED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

#[tokio::test(start_paused = true)]
async fn each_call_has_a_span_in_that_of_its_lane_with_the_ids_that_a_request_was_given() {
    let log = tracing_subscriber::fmt().json().with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG);
    let _guard =
        tracing_subscriber::util::SubscriberInitExt::set_default(log.with_writer(|| LOGGED.make_writer()));
    let world = World::new(1);
    let engine = world.engine();
    let generation = engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    let text = String::from_utf8(LOGGED.lock().unwrap().clone()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let calls: Vec<&Value> = lines.iter().filter(|line| line["fields"]["message"] == "answered").collect();
    let of_lane = |line: &&&Value| line["spans"][0]["name"] == "lane";
    let lane: Vec<&Value> = calls.iter().filter(of_lane).copied().collect();
    for line in &lane {
        let span = &line["spans"][0];
        assert_eq!(span["context"], "lc-1", "{line}");
        assert_eq!(span["cluster"], cluster_id(1).to_string(), "{line}");
        assert_eq!(span["generation"], generation.0, "{line}");
        assert_eq!(line["spans"][1]["name"], "call", "{line}");
    }
    let made: Vec<(&str, &str)> = lane
        .iter()
        .map(|line| &line["spans"][1])
        .filter(|span| span["verb"] == "create" && span["outcome"] == "2xx")
        .map(|span| (span["kind"].as_str().unwrap(), span["object"].as_str().unwrap()))
        .collect();
    assert_eq!(made.len(), 6, "{text}");
    assert!(made.contains(&("ResourceQuota", "ResourceQuota team/quota")), "{made:?}");
    // What is asked for no app context is told of the cluster.
    assert!(
        calls.iter().any(|line| line["spans"][0]["name"] == "shard" && line["spans"][1]["verb"] == "connect")
    );
    for secret in ["CERTIFICATE", "eyJ", "requests.cpu"] {
        assert!(!text.contains(secret), "{secret}");
    }
}
