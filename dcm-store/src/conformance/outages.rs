//! Rules about a backend that goes away and comes back.

use std::cell::Cell;
use std::collections::BTreeMap;

use dcm_core::port::store::{Error, Prefix, StoreExt, Version, Write};

use super::Subject;
use super::subject::{all_or_lost, answered, content, finish, soon};

/// Rounds that are written at least, however soon the backend is back.
const ROUNDS_MIN: u64 = 20;

/// What it had acknowledged is there, and the same handle reads, writes and watches on.
pub async fn a_store_whose_backend_was_away_is_the_same_when_it_is_back(subject: &Subject) {
    let (kept, gone) = (subject.create("kept", 1).await, subject.create("gone", 1).await);
    let kept = subject.write(subject.update("kept", kept, 2)).await.expect("update");
    subject.write(subject.deletion("gone", gone)).await.expect("delete");
    let store = subject.store();
    let before = store.list_all(&subject.prefix()).await.expect("list");
    subject.disturb().await;
    let after = answered("a list", async || store.list_all(&subject.prefix()).await).await;
    assert_eq!(after, before);
    assert!(certainly(subject, subject.update("kept", kept, 3)).await > kept);
    assert!(certainly(subject, subject.creation("gone", 2)).await > gone, "a version is never used again");
    let mut watch = subject.watch().await;
    let last = certainly(subject, subject.creation("last", 4)).await;
    watch.until_put(&subject.path("last"), last).await;
}

/// Who gets no answer reads, and knows: of a batch its beginning is there, of an atomic one all or nothing. Nothing happens twice, and
/// nothing is said to be in the way that he wrote himself.
pub async fn a_write_without_an_answer_happened_or_not_and_can_be_told_by_reading(subject: &Subject) {
    let first = subject.create("a", 0).await;
    let (rounds, last) = write_through_an_outage(subject, first, async |round| {
        certainly_batch(subject, &round.to_string()).await;
    })
    .await;
    let entry = answered("the document", async || subject.store().get(&subject.path("a")).await).await;
    let entry = entry.expect("the document");
    assert_eq!((entry.version, content(&entry)), (last, rounds));
}

/// All that was written meanwhile is told, or that something is lost.
pub async fn a_watch_whose_backend_was_away_tells_all_or_that_it_lost(subject: &Subject) {
    let first = subject.create("a", 0).await;
    let mut watch = subject.store().watch(&subject.prefix()).await.expect("watch");
    let (_, last) = write_through_an_outage(subject, first, async |_| ()).await;
    let end = certainly(subject, subject.creation("end", 0)).await;
    let written = BTreeMap::from([(subject.path("a"), last), (subject.path("end"), end)]);
    all_or_lost(&mut watch, written).await;
}

/// Raises the number in a document until the backend was away and is back; gives the number and the document's version.
async fn write_through_an_outage(
    subject: &Subject,
    first: Version,
    also: impl AsyncFn(u64),
) -> (u64, Version) {
    let is_back = Cell::new(false);
    let disturb = async {
        subject.disturb().await;
        is_back.set(true);
    };
    let write = async {
        let (mut round, mut version) = (0, first);
        while !is_back.get() || round < ROUNDS_MIN {
            round += 1;
            let written = certainly(subject, subject.update("a", version, round)).await;
            assert!(written > version, "{written:?} after {version:?}");
            version = written;
            also(round).await;
        }
        (round, version)
    };
    futures::join!(disturb, write).1
}

/// Writes, as the only one who does, until it is sure that it happened.
async fn certainly(subject: &Subject, write: Write) -> Version {
    let expected = match &write {
        Write::Create { .. } => None,
        Write::Update { version, .. } | Write::Delete { version, .. } => Some(*version),
    };
    let store = subject.store();
    let writing = async {
        let mut is_unknown = false;
        loop {
            match store.write_one(write.clone()).await {
                Ok(version) => return version,
                Err(Error::Unavailable { .. }) => is_unknown = true,
                // What was sent before came late.
                Err(Error::Conflict { .. }) if is_unknown => {}
                Err(error) => panic!("{write:?}: {error:?}"),
            }
            let found = answered("what happened", async || store.get(write.path()).await).await;
            if found.as_ref().map(|entry| entry.version) != expected {
                let found = found.expect("nobody deletes it");
                assert_eq!(Some(&found.document), write.document(), "what was written is there");
                return found.version;
            }
        }
    };
    soon("a write that happened", writing).await
}

/// Makes three documents in a batch, looks what is there of it when there is no answer, and finishes it.
async fn certainly_batch(subject: &Subject, folder: &str) {
    let store = subject.store();
    let batch: Vec<Write> =
        (0..3).map(|number| subject.creation(&format!("{folder}/{number}"), number)).collect();
    let Err(failed) = store.write(&batch).await else { return };
    assert!(failed.source.is_retryable(), "{failed:?}");
    if store.capabilities().atomic_batches {
        assert_eq!(failed.applied, 0);
        let folder = Prefix::below(&subject.path(folder));
        let there = answered("a list", async || store.list_all(&folder).await).await;
        assert!(there.is_empty() || there.len() == batch.len(), "an atomic batch is seen in part");
    }
    // From its end: what comes late comes in order.
    let mut later_is_there = false;
    for write in batch.iter().rev() {
        let is_there = answered("a document", async || store.get(write.path()).await).await.is_some();
        assert!(is_there || !later_is_there, "{} came before those before it", write.path());
        later_is_there |= is_there;
    }
    finish(&*store, batch).await;
}
