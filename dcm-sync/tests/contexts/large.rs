//! Contexts of many clusters, and of too much.

use std::collections::BTreeMap;
use std::sync::Arc;

use dcm_core::app_context::{Action, AppContext, Bundle, Drift, Existing, Stage, Step};
use dcm_core::manifest::Manifest;
use dcm_core::name::{AppName, DNS_LABEL_MAX, DNS_SUBDOMAIN_MAX};
use dcm_core::port::store::{BATCH_WRITES_MAX, DOCUMENT_BYTES_MAX, Path, Store as _};
use dcm_core::port::synchronizer::{Error, Removal, Synchronizer as _};
use dcm_core::status::Progress;
use dcm_sync::engine::{Engine, Options};
use dcm_sync::runtime::TokioClock;
use dcm_sync::sim::{Fleet, cluster_id};
use serde_json::json;

use crate::support::{World, cluster, context, id};

#[tokio::test]
async fn a_change_asks_for_no_claim_that_the_context_has() {
    let world = World::new(true);
    world.contexts.apply(&context(&["a"], 1..=1000)).await.unwrap();
    world.store.calls();
    world.contexts.apply(&context(&["b"], 1..=1001)).await.unwrap();
    let calls = world.store.calls();
    assert!(calls < 20, "{calls} calls for one changed object and one more cluster");
    let claims = world.records().await.into_keys().filter(|path| path.starts_with("claims/"));
    assert_eq!(claims.count(), 1001);
}

#[tokio::test]
async fn a_first_apply_writes_as_many_batches_as_its_records_fill_and_two_more_at_most() {
    for clusters in [1, 10, 100, 1000] {
        for atomic_batches in [true, false] {
            let world = World::new(atomic_batches);
            world.contexts.apply(&context(&["a"], 1..=clusters)).await.unwrap();
            let (batches, records) = (world.store.batches(), world.records().await.len());
            let most = records.div_ceil(BATCH_WRITES_MAX) + 2;
            assert!(batches <= most, "{batches} batches for {records} records, atomic: {atomic_batches}");
        }
    }
}

#[tokio::test]
async fn a_manifest_that_all_clusters_share_is_stored_once() {
    let stored = async |clusters| {
        let world = World::new(true);
        world.contexts.apply(&context(&["a", "b"], 1..=clusters)).await.unwrap();
        world.records().await.into_keys().filter(|path| path.starts_with("manifests/")).count()
    };
    assert_eq!(stored(100).await, stored(1).await);
}

#[tokio::test]
async fn a_context_that_was_removed_claims_its_namespaces_anew() {
    let world = World::new(false);
    let rival = |maps: &[&str]| {
        let name = dcm_core::name::ContextId::new("rival").unwrap();
        AppContext { id: name, ..context(maps, 1..=1) }
    };
    world.contexts.apply(&context(&["a"], 1..=1)).await.unwrap();
    assert!(matches!(world.contexts.apply(&rival(&[])).await, Err(Error::NamespaceTaken { .. })));
    world.contexts.remove(&id(), Removal::default()).await.unwrap();
    world.contexts.forget(&id()).await.unwrap();
    world.contexts.apply(&rival(&[])).await.unwrap();
    let error = world.contexts.apply(&context(&["a"], 1..=1)).await.unwrap_err();
    let Error::NamespaceTaken { cluster: place, .. } = &error else { panic!("{error}") };
    assert_eq!(*place, cluster(1));
}

#[tokio::test]
async fn a_context_whose_record_is_too_large_is_refused_for_good_and_leaves_nothing() {
    let world = World::new(false);
    let mut large = context(&["a"], 1..=1);
    large.labels.insert("note".to_owned(), "x".repeat(DOCUMENT_BYTES_MAX));
    let error = world.contexts.apply(&large).await.unwrap_err();
    assert!(matches!(&error, Error::Invalid { reason } if reason.contains("too large")), "{error:?}");
    assert!(world.records().await.is_empty());
}

/// Objects whose names are as long as Kubernetes allows, on one simulated cluster.
struct Filling {
    namespace: Manifest,
    maps: Vec<Manifest>,
}

impl Filling {
    /// As many as no lane has room for. Those with another letter have other names.
    fn too_large(letter: &str) -> Self {
        let namespace = "n".repeat(DNS_LABEL_MAX);
        let map = |number: usize| {
            let name = format!("{}{number:05}", letter.repeat(DNS_SUBDOMAIN_MAX - 5));
            let metadata = json!({"name": name, "namespace": namespace});
            Manifest::new(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})).unwrap()
        };
        let maps = (0..DOCUMENT_BYTES_MAX / DNS_SUBDOMAIN_MAX).map(map).collect();
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        Self { namespace: Manifest::new(body).unwrap(), maps }
    }

    /// A context with the first of them.
    fn context(&self, maps: usize) -> AppContext {
        let step = |stage, manifest: &Manifest| Step {
            app: AppName::new("filling").unwrap(),
            stage: Stage(stage),
            action: Action::Apply {
                manifest: manifest.clone(),
                existing: Existing::Refuse,
                drift: Drift::default(),
            },
        };
        let maps = self.maps[..maps].iter().map(|map| step(u16::MAX, map));
        let steps = std::iter::once(step(0, &self.namespace)).chain(maps);
        let bundle = Arc::new(Bundle::new(steps.collect()).unwrap());
        let placements = [(cluster_id(1), bundle)].into();
        AppContext { id: id(), labels: BTreeMap::new(), removal: Removal::default(), placements }
    }

    /// How many are taken.
    async fn largest(&self) -> usize {
        let (mut taken, mut refused) = (0, self.maps.len());
        while refused - taken > 1 {
            let middle = usize::midpoint(taken, refused);
            match World::new(true).contexts.apply(&self.context(middle)).await {
                Ok(_) => taken = middle,
                Err(error) => {
                    assert!(matches!(error, Error::Invalid { .. }), "{error:?}");
                    refused = middle;
                }
            }
        }
        taken
    }
}

#[tokio::test(start_paused = true)]
async fn the_most_objects_that_are_taken_for_a_cluster_come_to_their_end_and_one_more_is_refused() {
    let filling = Filling::too_large("m");
    let largest = filling.largest().await;
    let world = World::new(true);
    let error = world.contexts.apply(&filling.context(largest + 1)).await.unwrap_err();
    let Error::Invalid { reason } = &error else { panic!("{error}") };
    let named = [cluster_id(1).to_string(), "app filling".into(), DOCUMENT_BYTES_MAX.to_string()];
    assert!(named.iter().all(|part| reason.contains(part)), "{reason}");
    assert!(!error.is_retryable() && world.records().await.is_empty());

    world.contexts.apply(&filling.context(largest)).await.unwrap();
    let fleet = Arc::new(Fleet::builder(Arc::new(TokioClock::new())).clusters(1).build());
    let options = Options { writes_per_second: u32::MAX, writes_burst: u32::MAX, ..Options::default() };
    let engine = Engine::builder(world.store.clone(), fleet).options(options).spawn();
    let status = world.contexts.wait_until_done(&id()).await.unwrap();
    assert_eq!(status.progress, Progress::Done, "{:?}", status.lanes[&cluster_id(1)].cause);
    assert_eq!(status.lanes[&cluster_id(1)].objects.len(), largest + 1);
    let lane = Path::new(format!("lanes/{}/{}", id(), cluster_id(1))).unwrap();
    let bytes = world.store.get(&lane).await.unwrap().unwrap().document.as_str().len();
    // What is left is what causes may take, and digests of what a server keeps otherwise than it was sent, which none has here.
    assert!(bytes > DOCUMENT_BYTES_MAX * 3 / 4, "{largest} objects have {bytes} bytes");
    engine.shutdown().await;
}

#[tokio::test]
async fn a_change_to_other_objects_is_refused_while_there_is_no_room_for_both_and_changes_nothing() {
    let (before, after) = (Filling::too_large("a"), Filling::too_large("b"));
    let half = before.largest().await / 2;
    let world = World::new(true);
    world.contexts.apply(&before.context(half)).await.unwrap();
    let records = world.records().await;
    let error = world.contexts.apply(&after.context(half + 10)).await.unwrap_err();
    assert!(matches!(&error, Error::Invalid { reason } if reason.contains("what is there now")), "{error:?}");
    assert_eq!(world.records().await, records);
    world.contexts.apply(&after.context(half - 10)).await.unwrap();
    world.contexts.apply(&after.context(half + 10)).await.unwrap();
}
