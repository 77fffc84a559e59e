//! Rules about watches.

use std::collections::BTreeMap;
use std::sync::Arc;

use dcm_core::port::store::{BATCH_WRITES_MAX, Change, Path, Prefix, Store, StoreExt, Version, Write};
use futures::StreamExt;

use super::Subject;
use super::subject::{Told, all_or_lost, content, document, soon};

/// Rounds of the writers that rules watch.
const ROUNDS: u64 = 100;

/// Batches that a reader falls behind.
const UNREAD_BATCHES: usize = 4;

/// Each change, when there is time to tell it: created, updated, deleted, created again.
pub async fn a_watch_sees_every_later_change(subject: &Subject) {
    let mut watch = subject.watch().await;
    let path = subject.path("a");
    let created = subject.create("a", 1).await;
    assert_eq!(content(&watch.until_put(&path, created).await), 1);
    let updated = subject.write(subject.update("a", created, 2)).await.expect("update");
    let entry = watch.until_put(&path, updated).await;
    assert_eq!((entry.version, content(&entry)), (updated, 2));
    subject.write(subject.deletion("a", updated)).await.expect("delete");
    watch.until_deleted(&path).await;
    let again = subject.create("a", 3).await;
    assert_eq!(content(&watch.until_put(&path, again).await), 3);
    // And those of a batch, each.
    let batch: Vec<Write> = (0..20).map(|number| subject.creation(&format!("b/{number}"), number)).collect();
    subject.batch(&batch).await.expect("batch");
    let mut missing: Vec<Path> = batch.iter().map(|write| write.path().clone()).collect();
    while !missing.is_empty() {
        if let Told::Put(entry) = watch.next("the writes of a batch").await {
            missing.retain(|path| *path != entry.path);
        }
    }
}

/// Changes beside the folder are not told, not even of the folder's own document.
pub async fn a_watch_sees_its_own_folder_only(subject: &Subject) {
    let prefix = Prefix::below(&subject.path("projects"));
    let mut watch = subject.store().watch(&prefix).await.expect("watch");
    for beside in ["projects", "projects2/p", "projects!/p", "other"] {
        subject.create(beside, 1).await;
    }
    let last = subject.create("projects/p", 2).await;
    loop {
        match soon("a change in the folder", watch.next()).await.expect("a change") {
            Change::Put(entry) => {
                assert!(prefix.contains(&entry.path), "told of {}", entry.path);
                if entry.version == last {
                    return;
                }
            }
            other => panic!("told {other:?}"),
        }
    }
}

/// A watch is of later changes: what was there before is for the list. A store may tell of it again, but then as it
/// is, never as it was.
pub async fn a_watch_tells_nothing_older_than_itself(subject: &Subject) {
    let first = subject.create("a", 1).await;
    let second = subject.write(subject.update("a", first, 2)).await.expect("update");
    let gone = subject.create("gone", 1).await;
    subject.write(subject.deletion("gone", gone)).await.expect("delete");
    let mut watch = subject.watch().await;
    let end = subject.create("end", 3).await;
    loop {
        match watch.next("the last write").await {
            Told::Put(entry) if entry.version == end => return,
            Told::Put(entry) => assert_eq!((entry.path, entry.version), (subject.path("a"), second)),
            Told::Deleted(path) => assert_eq!(path, subject.path("gone")),
        }
    }
}

/// Two readers both see a change, and one that went away takes nothing from the other.
pub async fn each_watch_is_told_on_its_own(subject: &Subject) {
    let (mut one, mut other, leaving) = (subject.watch().await, subject.watch().await, subject.watch().await);
    let first = subject.create("a", 1).await;
    drop(leaving);
    let second = subject.create("b", 2).await;
    for watch in [&mut one, &mut other] {
        watch.until_put(&subject.path("a"), first).await;
    }
    one.until_put(&subject.path("b"), second).await;
    other.until_put(&subject.path("b"), second).await;
}

/// Creates, updates and deletes one document over and over; it is there in the end.
async fn churn(store: Arc<dyn Store>, path: Path) -> Version {
    let mut version = None;
    for round in 0..ROUNDS {
        let path = path.clone();
        let (write, stays) = match version {
            None => (Write::Create { path, document: document(round) }, true),
            Some(version) if round % 7 == 3 => (Write::Delete { path, version }, false),
            Some(version) => (Write::Update { path, version, document: document(round) }, true),
        };
        let written = store.write_one(write).await.expect("the only writer of its path");
        version = stays.then_some(written);
        // Stores that never wait would be through before anybody has read.
        tokio::task::yield_now().await;
    }
    version.expect("the last round writes")
}

/// While others write: the versions that are told of one path grow, and the last that is told is what there is.
pub async fn a_watch_never_goes_back_and_ends_at_the_truth(subject: &Subject) {
    let mut watch = subject.watch().await;
    let paths: Vec<Path> = (0..4).map(|number| subject.path(&format!("d{number}"))).collect();
    let writers: Vec<_> =
        paths.iter().map(|path| tokio::spawn(churn(subject.store(), path.clone()))).collect();
    let reader = async {
        let (mut latest, mut last) = (BTreeMap::<Path, Version>::new(), BTreeMap::new());
        // A document that is written after all others are done ends the reading of each path.
        while last.len() < paths.len() {
            match watch.next("the end of each document").await {
                Told::Put(entry) => {
                    let earlier = latest.insert(entry.path.clone(), entry.version);
                    assert!(
                        earlier.is_none_or(|earlier| earlier <= entry.version),
                        "{} went back",
                        entry.path
                    );
                    if content(&entry) == ROUNDS - 1 {
                        last.insert(entry.path, entry.version);
                    }
                }
                Told::Deleted(path) => assert!(!last.contains_key(&path), "{path} went back"),
            }
        }
        last
    };
    let last = reader.await;
    for (path, writer) in paths.iter().zip(writers) {
        assert_eq!(last.get(path).copied(), Some(writer.await.expect("a writer")), "{path}");
    }
    let listed = subject.store().list_all(&subject.prefix()).await.expect("list");
    assert_eq!(last, listed.into_iter().map(|entry| (entry.path, entry.version)).collect());
}

/// Watch first, list then, apply what is told: this follows the store from a known state, while others write.
pub async fn a_list_after_a_watch_loses_nothing(subject: &Subject) {
    let store = subject.store();
    let writes: Vec<Write> =
        (0..ROUNDS).map(|number| subject.creation(&format!("{number:03}"), number)).collect();
    let writer = tokio::spawn(async move {
        for write in writes {
            store.write_one(write).await.expect("create");
            tokio::task::yield_now().await;
        }
    });
    // Somewhere in the middle of the writing.
    let begun = async {
        while subject.list().await.len() < 10 {
            tokio::task::yield_now().await;
        }
    };
    soon("the first writes", begun).await;
    let mut watch = subject.watch().await;
    let mut known = subject.list().await;
    while (known.len() as u64) < ROUNDS {
        match watch.next("the rest of the writes").await {
            Told::Put(entry) => known.insert(subject.name(&entry.path), entry.version),
            Told::Deleted(path) => panic!("{path} was not deleted"),
        };
    }
    writer.await.expect("the writer");
    assert_eq!(known, subject.list().await);
}

/// However much is written before it reads on: all of it is told then, or the watch says that it lost something, and ends.
pub async fn a_reader_who_falls_behind_is_told_all_or_that_it_lost(subject: &Subject) {
    let mut watch = subject.store().watch(&subject.prefix()).await.expect("watch");
    let writes: Vec<Write> = (0..UNREAD_BATCHES * BATCH_WRITES_MAX)
        .map(|number| subject.creation(&format!("{number:05}"), 1))
        .collect();
    let mut written = BTreeMap::new();
    for batch in writes.chunks(BATCH_WRITES_MAX) {
        let versions = subject.batch(batch).await.expect("batch");
        written.extend(batch.iter().map(|write| write.path().clone()).zip(versions));
    }
    all_or_lost(&mut watch, written).await;
}
