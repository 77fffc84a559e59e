//! What stores over other stores add.
#![allow(clippy::unwrap_used)]
#![cfg(all(feature = "memory", feature = "faults", feature = "trace"))]

use std::sync::Arc;
use std::time::Duration;

use dcm_core::port::store::{
    Change, Document, Error, PageRequest, Path, Prefix, Store as _, StoreExt as _, Version, Write,
};
use dcm_store::faults::Faults;
use dcm_store::trace::{Counts, Ended, Kind};
use dcm_store::{FaultyStore, MemoryStore, TracedStore};
use futures::StreamExt as _;

fn creation(name: &str) -> Write {
    Write::Create { path: Path::new(name).unwrap(), document: Document::from_stored("{}") }
}

fn faulty(seed: u64, faults: Faults) -> FaultyStore<MemoryStore> {
    FaultyStore::new(Arc::new(MemoryStore::builder().atomic_batches(false).build()), seed, faults)
}

/// Which of a hundred creations are said to have failed, and which of those happened.
async fn failures(seed: u64) -> Vec<(usize, bool)> {
    let store = faulty(seed, Faults::SOME);
    let mut failed = Vec::new();
    for number in 0..100 {
        if store.write_one(creation(&format!("a/{number:02}"))).await.is_err() {
            failed.push(number);
        }
    }
    store.heal();
    let there = store.list_all(&Prefix::everything()).await.unwrap();
    let is_there = |number: &usize| there.iter().any(|one| one.path.as_str() == format!("a/{number:02}"));
    failed.iter().map(|number| (*number, is_there(number))).collect()
}

#[tokio::test]
async fn one_seed_fails_the_same_way_and_another_one_otherwise() {
    assert_eq!(failures(1).await, failures(1).await);
    assert_ne!(failures(1).await, failures(2).await);
    let all = futures::future::join_all((0..10).map(failures)).await.concat();
    assert!(all.iter().any(|(_, happened)| *happened) && all.iter().any(|(_, happened)| !happened));
}

#[tokio::test]
async fn a_batch_that_is_cut_off_has_its_first_part() {
    let store = faulty(1, Faults { unsent: 0, unanswered: 0, cut_off: 1000, lost: 0 });
    let batch = ["a", "b", "c"].map(creation);
    let failed = store.write(&batch).await.unwrap_err();
    assert!(failed.applied == 0 && matches!(failed.source, Error::Unavailable { .. }), "{failed:?}");
    store.heal();
    let there = store.list_all(&Prefix::everything()).await.unwrap();
    let names: Vec<&str> = there.iter().map(|entry| entry.path.as_str()).collect();
    assert!(names == ["a"] || names == ["a", "b"], "{names:?}");
}

#[tokio::test]
async fn a_watch_that_is_lost_says_so_and_ends() {
    let store = faulty(1, Faults { unsent: 0, unanswered: 0, cut_off: 0, lost: 1000 });
    let watch = store.watch(&Prefix::everything()).await.unwrap();
    store.write_one(creation("a")).await.unwrap();
    assert_eq!(watch.collect::<Vec<_>>().await, [Change::Lost]);
}

#[tokio::test]
async fn everything_that_is_asked_is_counted() {
    let store = TracedStore::new(Arc::new(MemoryStore::new()));
    let mut watch = store.watch(&Prefix::everything()).await.unwrap();
    let versions = store.write(&["a", "b"].map(creation)).await.unwrap();
    watch.next().await.unwrap();
    store.get(&Path::new("a").unwrap()).await.unwrap();
    store.get(&Path::new("none").unwrap()).await.unwrap();
    store.list(&Prefix::everything(), &PageRequest::default()).await.unwrap();
    let stale = Version(versions[0].0 + 100);
    store.write_one(Write::Delete { path: Path::new("a").unwrap(), version: stale }).await.unwrap_err();
    let nothing = PageRequest { limit: Some(0), after: None };
    store.list(&Prefix::everything(), &nothing).await.unwrap_err();
    let expected = Counts {
        gets: 2,
        lists: 2,
        batches: 2,
        watches: 1,
        documents_read: 4,
        bytes_read: 8,
        writes: 3,
        bytes_written: 4,
        changes: 1,
        conflicts: 1,
        failures: 1,
    };
    assert_eq!(store.counts(), expected);
    let ended = Kind::ALL.map(|kind| {
        let Ended { done, conflicts, failures, .. } = store.ended(kind);
        (kind.as_str(), [done, conflicts, failures])
    });
    let expected = [("get", [2, 0, 0]), ("list", [1, 0, 1]), ("write", [1, 1, 0]), ("watch", [1, 0, 0])];
    assert_eq!(ended, expected);
    assert!(store.ended(Kind::List).took > Duration::ZERO);
}
