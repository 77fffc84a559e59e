//! Contexts of many clusters, and of too much.

use dcm_core::port::store::{BATCH_WRITES_MAX, DOCUMENT_BYTES_MAX};
use dcm_core::port::synchronizer::{Error, Removal, Synchronizer as _};

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
        dcm_core::app_context::AppContext { id: name, ..context(maps, 1..=1) }
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
