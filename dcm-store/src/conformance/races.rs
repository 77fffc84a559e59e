//! Rules about writers at the same time.

use std::sync::Arc;

use dcm_core::port::store::{Error, PageRequest, Path, Store, StoreExt, Version, Write};

use super::Subject;
use super::subject::{content, document};

/// Writers that race.
const WRITERS: u64 = 8;

/// Rounds of a race.
const ROUNDS: u64 = 25;

/// Runs one write of each writer at the same time; gives who won, and refuses all failures but conflicts.
async fn race(store: &Arc<dyn Store>, write: impl Fn(u64) -> Write) -> Vec<(u64, Version)> {
    let run = |writer| {
        let (store, write) = (store.clone(), write(writer));
        tokio::spawn(async move { (writer, store.write_one(write).await) })
    };
    let mut winners = Vec::new();
    for task in (0..WRITERS).map(run).collect::<Vec<_>>() {
        match task.await.expect("a writer") {
            (writer, Ok(version)) => winners.push((writer, version)),
            (_, Err(Error::Conflict { .. })) => {}
            (writer, Err(error)) => panic!("writer {writer}: {error:?}"),
        }
    }
    winners
}

/// A read that begins after a write returned sees it, whoever reads and however.
pub async fn reads_see_what_was_written_before(subject: &Subject) {
    let mut version = subject.create("a", 0).await;
    for round in 1..=ROUNDS {
        version = subject.write(subject.update("a", version, round)).await.expect("update");
        let readers: Vec<_> = (0..WRITERS)
            .map(|_| {
                let (store, path, prefix) = (subject.store(), subject.path("a"), subject.prefix());
                tokio::spawn(async move {
                    let page = store.list(&prefix, &PageRequest::default()).await.expect("list");
                    (store.get(&path).await.expect("get"), page.entries)
                })
            })
            .collect();
        for reader in readers {
            let (got, listed) = reader.await.expect("a reader");
            assert_eq!(got.as_ref().map(|entry| (entry.version, content(entry))), Some((version, round)));
            assert_eq!(listed, got.into_iter().collect::<Vec<_>>());
        }
    }
}

/// Of all who create one document at the same time, one does.
pub async fn one_creator_wins(subject: &Subject) {
    for round in 0..ROUNDS {
        let name = format!("{round}");
        let winners = race(&subject.store(), |writer| subject.creation(&name, writer)).await;
        let entry = subject.get(&name).await.expect("the document");
        assert_eq!(winners, [(content(&entry), entry.version)], "round {round}");
    }
}

/// Of all who replace one version at the same time, one does, and its content stays.
pub async fn compare_and_swap_has_one_winner_per_round(subject: &Subject) {
    let mut version = subject.create("a", 0).await;
    for round in 0..ROUNDS {
        let winners = race(&subject.store(), |writer| subject.update("a", version, writer)).await;
        let entry = subject.get("a").await.expect("the document");
        assert_eq!(winners, [(content(&entry), entry.version)], "round {round}");
        assert!(entry.version > version);
        version = entry.version;
    }
}

/// Adds one to the document's number, as often as asked, reading again at each conflict.
async fn count(store: Arc<dyn Store>, path: Path, times: u64) {
    for _ in 0..times {
        loop {
            let entry = store.get(&path).await.expect("get").expect("the document");
            let document = document(content(&entry) + 1);
            match store
                .write_one(Write::Update { path: path.clone(), version: entry.version, document })
                .await
            {
                Ok(_) => break,
                Err(Error::Conflict { .. }) => {}
                Err(error) => panic!("{error:?}"),
            }
        }
    }
}

/// Counters that many raise come out right.
pub async fn no_update_is_lost(subject: &Subject) {
    subject.create("a", 0).await;
    let counters: Vec<_> =
        (0..4).map(|_| tokio::spawn(count(subject.store(), subject.path("a"), ROUNDS))).collect();
    for counter in counters {
        counter.await.expect("a counter");
    }
    assert_eq!(content(&subject.get("a").await.expect("the document")), 4 * ROUNDS);
}

/// A page, which is of one moment, shows all of an atomic batch or nothing. Other stores have nothing to hold here.
pub async fn batches_of_an_atomic_store_are_never_seen_in_part(subject: &Subject) {
    if !subject.store().capabilities().atomic_batches {
        return;
    }
    let names = ["a", "b", "c"];
    let create: Vec<Write> = names.iter().map(|name| subject.creation(name, 0)).collect();
    let mut versions = subject.batch(&create).await.expect("create");
    let (store, paths) = (subject.store(), names.map(|name| subject.path(name)));
    let writer = tokio::spawn(async move {
        for round in 1..=ROUNDS {
            let update = |(path, version): (&Path, &Version)| Write::Update {
                path: path.clone(),
                version: *version,
                document: document(round),
            };
            let batch: Vec<Write> = paths.iter().zip(&versions).map(update).collect();
            versions = store.write(&batch).await.expect("update");
        }
    });
    loop {
        let done = writer.is_finished();
        let page = subject.store().list(&subject.prefix(), &PageRequest::default()).await.expect("list");
        let contents: Vec<u64> = page.entries.iter().map(content).collect();
        assert_eq!(contents, [contents[0]; 3], "a batch was seen in part");
        if done {
            assert_eq!(contents[0], ROUNDS);
            return writer.await.expect("the writer");
        }
        tokio::task::yield_now().await;
    }
}
