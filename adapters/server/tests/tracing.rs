//! The way from a request to each call to a cluster can be followed in the log, by ids.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::io;
use std::sync::{Arc, Mutex};

use common::{World, everything, spec};
use dcm_core::service::Caller;
use dcm_sync::engine::Acquire;
use serde_json::Value;
use tracing::Instrument as _;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Recording(Arc<Mutex<Vec<u8>>>);

impl io::Write for Recording {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Recording {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Recording {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_leads_to_its_lanes_and_calls_by_app_context_and_generation() {
    let recording = Recording::default();
    let log = tracing_subscriber::fmt().json().with_max_level(LevelFilter::TRACE);
    let _guard = log.with_writer(recording.clone()).set_default();
    let world = World::new(2).await;
    world.put(spec(&everything())).await;
    let caller = Caller::new("ann").with_request_id("req-7");
    let request = tracing::info_span!("request", caller = caller.who(), request_id = caller.request_id());
    let applying = world.deployment.clouds().apply(&caller, &world.project, &world.cloud);
    applying.instrument(request).await.unwrap();
    let engine = world.deployment.engine(Acquire::All);
    world.done().await;
    engine.shutdown().await;

    let text = recording.text();
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
