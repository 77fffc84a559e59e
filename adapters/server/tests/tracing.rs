//! The way from a request to each call to a cluster can be followed in the log, by ids.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

#[path = "it/common/mod.rs"]
#[allow(dead_code, reason = "it needs a part")]
mod common;

use std::sync::Mutex;

use common::{World, everything, spec};
use dcm_core::service::Caller;
use dcm_sync::engine::Acquire;
use serde_json::Value;
use tracing::Instrument as _;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// What is logged, by the one test of this program.
static LOGGED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

#[tokio::test(start_paused = true)]
async fn a_request_leads_to_its_lanes_and_calls_by_app_context_and_generation() {
    let log = tracing_subscriber::fmt().json().with_max_level(LevelFilter::TRACE);
    let _guard = log.with_writer(|| LOGGED.make_writer()).set_default();
    let world = World::new(2).await;
    world.put(spec(&everything())).await;
    let caller = Caller::new("ann").with_request_id("req-7");
    let request = tracing::info_span!("request", caller = caller.who(), request_id = caller.request_id());
    let applying = world.deployment.clouds().apply(&caller, &world.project, &world.cloud);
    applying.instrument(request).await.unwrap();
    let engine = world.deployment.engine(Acquire::All);
    world.done().await;
    engine.shutdown().await;

    let text = String::from_utf8(LOGGED.lock().unwrap().clone()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_request = |line: &&Value| line["spans"][0]["request_id"] == "req-7";
    let asked = lines.iter().filter(of_request).find(|line| line["fields"]["message"] == "asked").unwrap();
    let (entry, context) = (&asked["fields"]["entry"], &asked["fields"]["context"]);
    let is_end = |line: &&Value| line["fields"]["entry"] == *entry && line["fields"]["message"] == "accepted";
    let generation = &lines.iter().find(is_end).unwrap()["fields"]["generation"];
    assert!(context.is_string() && generation.is_u64(), "{asked}");

    let calls = lines.iter().filter(|line| line["fields"]["message"] == "answered");
    let of_lane = calls.filter(|line| line["spans"][0]["name"] == "lane");
    let (ours, others): (Vec<&Value>, Vec<&Value>) = of_lane.partition(|line| {
        line["spans"][0]["context"] == *context && line["spans"][0]["generation"] == *generation
    });
    assert!(others.is_empty(), "{others:#?}");
    let created = ours.iter().filter(|line| {
        line["spans"][1]["name"] == "call"
            && line["spans"][1]["verb"] == "create"
            && line["spans"][1]["outcome"] == "2xx"
    });
    assert!(created.count() > 4, "{ours:#?}");
    // Neither what requests hold, nor what is stored for users or clusters.
    for secret in ["PRIVATE KEY", "CERTIFICATE", "$secret", "client-key", "eyJ"] {
        assert!(!text.contains(secret), "{secret}");
    }
}
