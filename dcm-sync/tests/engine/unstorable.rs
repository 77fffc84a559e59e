//! What is known of a lane can't be stored: the status tells why, and nobody asks the store again and again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::app_context::Step;
use dcm_core::port::store::{
    BatchError, Capabilities, Entry, Error, Page, PageRequest, Path, Prefix, Store, Version, Watch, Write,
};
use dcm_core::port::synchronizer::{Removal, Synchronizer as _};
use dcm_core::status::{Progress, Reason};
use dcm_sync::engine::{Engine, Options};
use dcm_sync::sim::cluster_id;
use serde_json::json;

use crate::fixture::*;

/// How many objects there are beside the namespace.
const OBJECTS: usize = 30;

/// A record of a lane that names some of them, but by far not all.
const SOME_BYTES: usize = 3000;

/// Longer than anybody would wait to ask again, were it done over and over.
const LONG: Duration = Duration::from_secs(3600);

/// A store that does not take all records of lanes.
struct Choosy {
    inner: Arc<dyn Store>,
    bytes_max: AtomicUsize,
    error: Error,
    refused: AtomicUsize,
}

impl Choosy {
    fn over(world: &World, bytes_max: usize, error: Error) -> Arc<Self> {
        let (bytes_max, refused) = (AtomicUsize::new(bytes_max), AtomicUsize::new(0));
        Arc::new(Self { inner: world.store.clone(), bytes_max, error, refused })
    }

    fn engine(self: &Arc<Self>, world: &World) -> Engine {
        world.engine_between(self.clone(), world.fleet.clone(), Options::default()).0
    }

    fn take_all(&self) {
        self.bytes_max.store(usize::MAX, Ordering::Relaxed);
    }

    /// How many it did not take.
    fn refused(&self) -> usize {
        self.refused.load(Ordering::Relaxed)
    }

    fn takes(&self, write: &Write) -> bool {
        !write.path().as_str().starts_with("lanes/")
            || write.bytes() <= self.bytes_max.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Store for Choosy {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        self.inner.get(path).await
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        self.inner.list(prefix, page).await
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        if batch.iter().all(|write| self.takes(write)) {
            return self.inner.write(batch).await;
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(BatchError { applied: 0, source: self.error.clone() })
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        self.inner.watch(prefix).await
    }
}

fn too_large() -> Error {
    Error::Invalid { reason: "the document is too large".into() }
}

fn many() -> Vec<Step> {
    let map = |number| {
        let metadata = json!({"name": format!("map-{number}"), "namespace": "team"});
        apply(1, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}))
    };
    std::iter::once(apply(0, namespace_body("team"))).chain((0..OBJECTS).map(map)).collect()
}

async fn stuck(engine: &Engine) {
    let status = until(engine, |status| status.progress == Progress::Stuck).await;
    let cause = status.lanes[&cluster_id(1)].cause.clone().unwrap();
    assert_eq!((cause.reason, cause.next_try), (Reason::Invalid, None));
    assert_eq!(&*cause.message, "what is known of it can't be stored");
    assert!(cause.whole().contains("too large"), "{cause:?}");
}

#[tokio::test(start_paused = true)]
async fn a_record_that_the_store_never_takes_ends_in_a_status_that_says_so_and_is_not_tried_again() {
    let world = World::new(1);
    let store = Choosy::over(&world, SOME_BYTES, too_large());
    let engine = store.engine(&world);
    engine.contexts().apply(&context(many(), [1])).await.unwrap();
    stuck(&engine).await;
    assert_eq!(world.owned(1).len(), 1 + OBJECTS);
    let (refused, state) = (store.refused(), world.store_state().await);
    assert_eq!(refused, 1);
    tokio::time::sleep(LONG).await;
    assert_eq!((store.refused(), world.store_state().await), (refused, state));
    stuck(&engine).await;
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_again_has_it_tried_once_more() {
    let world = World::new(1);
    let store = Choosy::over(&world, SOME_BYTES, too_large());
    let engine = store.engine(&world);
    let wanted = context(many(), [1]);
    engine.contexts().apply(&wanted).await.unwrap();
    stuck(&engine).await;
    engine.contexts().apply(&wanted).await.unwrap();
    until_so(|| store.refused() == 2).await;
    stuck(&engine).await;
    let writes = world.writes();
    store.take_all();
    engine.contexts().apply(&wanted).await.unwrap();
    let status = done(&engine, &context_id()).await;
    assert_eq!(status.lanes[&cluster_id(1)].objects.len(), 1 + OBJECTS);
    assert_eq!(world.writes(), writes, "all of it was there");
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_stored_is_removed_all_the_same_also_by_the_next_worker() {
    for dies in [false, true] {
        let world = World::new(1);
        let store = Choosy::over(&world, SOME_BYTES, too_large());
        let mut engine = store.engine(&world);
        engine.contexts().apply(&context(many(), [1])).await.unwrap();
        stuck(&engine).await;
        if dies {
            engine.shutdown().await;
            engine = store.engine(&world);
            until_so(|| store.refused() == 2).await;
            stuck(&engine).await;
        }
        engine.contexts().remove(&context_id(), Removal::default()).await.unwrap();
        done(&engine, &context_id()).await;
        assert!(world.owned(1).is_empty(), "{:?}", world.owned(1));
        assert!(world.claimed("team").await.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_person_has_to_mend_in_the_store_is_tried_seldom_and_goes_on_when_it_is_mended() {
    let world = World::new(1);
    let full = Error::Failed { reason: "the disk is full".into(), source: None };
    let store = Choosy::over(&world, 0, full);
    let engine = store.engine(&world);
    engine.contexts().apply(&context(many(), [1])).await.unwrap();
    tokio::time::sleep(LONG).await;
    let (tries, wait) = (store.refused() as u64, Options::default().retry_max);
    assert!((10..=1 + LONG.as_secs() / wait.as_secs()).contains(&tries), "{tries} tries in {LONG:?}");
    store.take_all();
    done(&engine, &context_id()).await;
}
