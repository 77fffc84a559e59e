//! Spans of a traced store have the fields that it promises. A program of its own, since what is recorded is decided once for all
//! threads of a program.
#![allow(clippy::unwrap_used)]
#![cfg(all(feature = "memory", feature = "trace"))]

use std::sync::{Arc, Mutex};

use dcm_core::port::store::{Document, PageRequest, Path, Prefix, Store as _, StoreExt as _, Version, Write};
use dcm_store::memory::Fault;
use dcm_store::{MemoryStore, TracedStore};
use serde_json::{Value, json};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter as _;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

/// What is logged, by the one test of this program.
static LOGGED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn path(text: &str) -> Path {
    Path::new(text).unwrap()
}

fn creation(name: &str) -> Write {
    let document = Document::from_value(&json!({ "name": name, "key": { "$secret": "hunter2" } })).unwrap();
    Write::Create { path: path(name), document }
}

/// Asks for everything that has a span, once with each outcome.
async fn ask(store: &TracedStore<MemoryStore>, memory: &MemoryStore) {
    let prefix = Prefix::below(&path("keys"));
    drop(store.watch(&prefix).await.unwrap());
    store.write(&["keys/a", "keys/b"].map(creation)).await.unwrap();
    store.get(&path("keys/a")).await.unwrap();
    store.get(&path("keys/none")).await.unwrap();
    store.list(&prefix, &PageRequest::default()).await.unwrap();
    store.write_one(creation("keys/a")).await.unwrap_err();
    store.write_one(Write::Delete { path: path("keys/a"), version: Version(99) }).await.unwrap_err();
    memory.fail_after(0, Fault::Unanswered);
    store.write_one(creation("keys/c")).await.unwrap_err();
    store.list(&prefix, &PageRequest { after: None, limit: Some(0) }).await.unwrap_err();
}

#[tokio::test]
async fn each_call_has_a_span_with_what_was_asked_and_what_came_of_it_and_no_document() {
    let log = tracing_subscriber::fmt().json().with_max_level(LevelFilter::TRACE);
    let log = log.with_span_events(FmtSpan::CLOSE);
    let _guard = log.with_writer(|| LOGGED.make_writer()).set_default();
    let memory = Arc::new(MemoryStore::new());
    ask(&TracedStore::new(memory.clone()), &memory).await;

    let text = String::from_utf8(LOGGED.lock().unwrap().clone()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &lines {
        assert_eq!((&line["target"], &line["level"]), (&json!("dcm_store"), &json!("DEBUG")), "{line}");
    }
    let spans: Vec<&Value> = lines.iter().map(|line| &line["span"]).collect();
    let changed = "keys/a was changed by another client meanwhile";
    let bytes = creation("keys/a").bytes();
    let expected = [
        json!({"name": "store.watch", "prefix": "keys/"}),
        json!({"name": "store.write", "first": "keys/a", "writes": 2, "bytes": 2 * bytes}),
        json!({"name": "store.get", "path": "keys/a", "found": true}),
        json!({"name": "store.get", "path": "keys/none", "found": false}),
        json!({"name": "store.list", "prefix": "keys/", "documents": 2}),
        json!({"name": "store.write", "first": "keys/a", "writes": 1, "bytes": bytes, "error": changed}),
        json!({"name": "store.write", "first": "keys/a", "writes": 1, "bytes": 0, "error": changed}),
        json!({
            "name": "store.write", "first": "keys/c", "writes": 1, "bytes": bytes,
            "error": "the store is not available",
        }),
    ];
    assert_eq!(spans.len(), expected.len() + 1, "{text}");
    assert_eq!(spans[..expected.len()], expected.iter().collect::<Vec<_>>());
    let refused = spans[expected.len()];
    assert_eq!((&refused["name"], &refused["prefix"]), (&json!("store.list"), &json!("keys/")));
    assert!(refused["error"].as_str().unwrap().starts_with("the store refuses this: "), "{refused}");
    for secret in ["hunter2", "$secret"] {
        assert!(!text.contains(secret), "{secret}");
    }
}
