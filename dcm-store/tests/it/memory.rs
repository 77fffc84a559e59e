//! How the memory store fails on demand.
#![allow(clippy::unwrap_used)]
#![cfg(feature = "memory")]

use dcm_core::port::store::{Change, Document, Error, Path, Prefix, Store, StoreExt, Write};
use dcm_store::MemoryStore;
use dcm_store::memory::{Fault, MadeToFail};
use futures::StreamExt;

fn create(name: &str) -> Write {
    Write::Create { path: Path::new(name).unwrap(), document: Document::from_stored("{}") }
}

async fn names(store: &MemoryStore) -> Vec<String> {
    let entries = store.list_all(&Prefix::everything()).await.unwrap();
    entries.iter().map(|entry| entry.path.to_string()).collect()
}

#[tokio::test]
async fn the_write_that_is_to_fail_fails_once_and_can_be_tried_again() {
    let store = MemoryStore::new();
    store.fail_after(1, Fault::NotWritten);
    store.write_one(create("a")).await.unwrap();
    assert!(store.write_one(create("a")).await.is_err(), "a refused write does not count");
    assert!(store.fault_is_pending());
    let error = store.write_one(create("b")).await.unwrap_err();
    assert!(
        matches!(&error, Error::Unavailable { source } if source.is::<MadeToFail>()) && error.is_retryable()
    );
    assert!(!store.fault_is_pending());
    assert_eq!(names(&store).await, ["a"]);
    store.write_one(create("b")).await.unwrap();
}

#[tokio::test]
async fn a_write_without_an_answer_happened_all_the_same() {
    let store = MemoryStore::new();
    let mut watch = store.watch(&Prefix::everything()).await.unwrap();
    store.fail_after(0, Fault::Unanswered);
    assert!(store.write_one(create("a")).await.unwrap_err().is_retryable());
    assert_eq!(names(&store).await, ["a"]);
    assert!(matches!(watch.next().await, Some(Change::Put(_))));
}

#[tokio::test]
async fn a_batch_fails_as_its_atomicity_says() {
    let batch = [create("a"), create("b"), create("c")];
    for (atomic, fault, applied, there) in [
        (true, Fault::NotWritten, 0, vec![]),
        (true, Fault::Unanswered, 0, vec!["a", "b", "c"]),
        (false, Fault::NotWritten, 1, vec!["a"]),
        (false, Fault::Unanswered, 1, vec!["a", "b"]),
    ] {
        let store = MemoryStore::builder().atomic_batches(atomic).build();
        store.fail_after(1, fault);
        assert_eq!(store.write(&batch).await.unwrap_err().applied, applied);
        assert_eq!(names(&store).await, there);
    }
}

#[tokio::test]
async fn a_watch_that_was_not_read_in_time_is_lost() {
    let store = MemoryStore::builder().watch_pending_max(1).build();
    let mut watch = store.watch(&Prefix::everything()).await.unwrap();
    store.write(&[create("a"), create("b")]).await.unwrap();
    assert_eq!(watch.next().await, Some(Change::Lost));
    assert_eq!(watch.next().await, None);
}
