//! Records that a later version of this software wrote.

use dcm_core::port::store::{Document, Path, Store as _, StoreExt as _, Write};
use dcm_core::port::synchronizer::{Error, Removal, Synchronizer as _};
use serde_json::{Value, json};

use crate::support::{World, context, id};

/// Changes a record as a later version would.
async fn alter(world: &World, path: &str, member: &str, value: Value) {
    let entry = world.store.get(&Path::new(path).unwrap()).await.unwrap().unwrap();
    let mut record: Value = entry.document.read().unwrap();
    record[member] = value;
    let document = Document::from_value(&record).unwrap();
    let update = Write::Update { path: entry.path, version: entry.version, document };
    world.store.write_one(update).await.unwrap();
}

#[tokio::test]
async fn what_a_later_version_wrote_is_neither_read_nor_replaced() {
    for (member, value) in [("schema", json!(2)), ("later", json!(true))] {
        let world = World::new(true);
        world.contexts.apply(&context(&["a"], 1..=1)).await.unwrap();
        alter(&world, "contexts/lc-1/root", member, value).await;
        let before = world.records().await;
        world.contexts.status(&id()).await.unwrap_err();
        let error = world.contexts.apply(&context(&["b"], 1..=1)).await.unwrap_err();
        assert!(!error.is_retryable(), "{error}");
        world.contexts.remove(&id(), Removal::default()).await.unwrap_err();
        world.contexts.forget(&id()).await.unwrap_err();
        assert_eq!(world.records().await, before, "{member}");
        if member == "schema" {
            let source = std::error::Error::source(&error).unwrap().to_string();
            assert!(source.contains("contexts/lc-1/root has schema 2"), "{source}");
        }
    }
}

#[tokio::test]
async fn a_claim_of_a_later_version_is_not_taken() {
    let world = World::new(true);
    world.contexts.apply(&context(&["a"], 1..=1)).await.unwrap();
    alter(&world, "claims/sim/c1/team", "schema", json!(2)).await;
    let rival = dcm_core::app_context::AppContext {
        id: dcm_core::name::ContextId::new("rival").unwrap(),
        ..context(&[], 1..=1)
    };
    let error = world.contexts.apply(&rival).await.unwrap_err();
    assert!(matches!(error, Error::Store(_)), "whose it is can't be told: {error}");
    assert_eq!(world.records().await["claims/sim/c1/team"]["context"], "lc-1");
}
