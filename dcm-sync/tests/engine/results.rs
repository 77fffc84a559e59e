//! What clusters issue is stored once and never lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::app_context::{Request, TokenRequest};
use dcm_core::port::store::{
    self, BatchError, Capabilities, Entry, Page, PageRequest, Path, Prefix, Store, Version, Write,
};
use dcm_core::port::synchronizer::Synchronizer as _;
use dcm_sync::sim::{Verb, cluster_id};

use crate::fixture::*;

/// How long a write to a slow store takes: much longer than a request to a cluster.
const SLOW: Duration = Duration::from_millis(50);

/// A store whose writes take their time.
struct SlowStore(Arc<dyn Store>);

#[async_trait]
impl Store for SlowStore {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, store::Error> {
        self.0.get(path).await
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, store::Error> {
        self.0.list(prefix, page).await
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        tokio::time::sleep(SLOW).await;
        let written = self.0.write(batch).await;
        tokio::time::sleep(SLOW).await;
        written
    }

    async fn watch(&self, prefix: &Prefix) -> Result<store::Watch, store::Error> {
        self.0.watch(prefix).await
    }
}

fn slow_world() -> World {
    let mut world = World::new(1);
    world.store = Arc::new(SlowStore(world.store.clone()));
    world
}

fn token(name: &str) -> dcm_core::app_context::Step {
    let token =
        TokenRequest { namespace: "team".into(), service_account: "ci".into(), lifetime_seconds: Some(3600) };
    request(2, name, Request::Token(token))
}

fn tokens_issued(world: &World) -> u64 {
    world.requests(|log| log.count(Verb::IssueToken))
}

#[tokio::test(start_paused = true)]
async fn what_is_issued_while_another_result_is_being_stored_is_stored_too() {
    let world = slow_world();
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
    let world = slow_world();
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
