//! Rules about several processes on one store, at the same time and one after the other.

use std::sync::Arc;

use dcm_core::port::store::{Capabilities, Prefix, Store, StoreExt, Version, Write};

use super::Subject;
use super::subject::{Told, content, finish};

/// Processes that want the same lease.
const PROCESSES: u64 = 4;

/// How often the lease changes hands.
const TAKEOVERS: u64 = 10;

/// Documents that make a whole, beside the one that counts.
const PARTS: usize = 4;

/// Writes of one batch, so that a whole is several.
const BATCH: usize = 2;

/// A durable store has all that it ever acknowledged, and goes on from there. Another one begins anew.
pub async fn what_was_acknowledged_is_there_when_it_is_opened_again(subject: &Subject) {
    let (kept, gone) = (subject.create("kept", 1).await, subject.create("gone", 1).await);
    subject.write(subject.update("kept", kept, 2)).await.expect("update");
    subject.write(subject.deletion("gone", gone)).await.expect("delete");
    subject.batch(&[subject.creation("b/1", 1), subject.creation("b/2", 2)]).await.expect("batch");
    let before = subject.store().list_all(&subject.prefix()).await.expect("list");
    assert_eq!(before.len(), 3);
    let durable = subject.store().capabilities().durable;
    if !subject.open_again().await {
        return;
    }
    let after = subject.store().list_all(&subject.prefix()).await.expect("list");
    assert_eq!(subject.store().capabilities().durable, durable);
    if !durable {
        assert_eq!(after, [], "a store that says it is not durable is empty");
        return;
    }
    assert_eq!(after, before);
    let error =
        subject.write(subject.update("kept", kept, 3)).await.expect_err("an update of an old version");
    subject.assert_conflict(&error, "kept", Some(subject.get("kept").await.expect("kept").version));
    assert!(subject.create("gone", 2).await > gone, "a version is never used again");
}

/// What one process writes on a shared store, another one reads at once, is told of, and can write over. A store that is neither
/// shared nor durable has its documents for itself.
pub async fn another_handle_reads_and_watches_what_one_writes(subject: &Subject) {
    let one = subject.store();
    let Capabilities { durable, shared, .. } = one.capabilities();
    if durable && !shared {
        // It must not be open twice.
        return;
    }
    let Some(other) = subject.open().await else { return };
    if shared {
        is_seen(subject, "from-one", &*one, &*other).await;
        is_seen(subject, "from-other", &*other, &*one).await;
        return;
    }
    let mut watch = subject.watch_of(&*other).await;
    subject.create("a", 1).await;
    assert_eq!(other.list_all(&subject.prefix()).await.expect("list"), []);
    let end = other.write_one(subject.creation("end", 2)).await.expect("create");
    match watch.next("its own write").await {
        Told::Put(entry) => assert_eq!((subject.name(&entry.path), entry.version), ("end".to_owned(), end)),
        Told::Deleted(path) => panic!("{path} was not deleted"),
    }
    assert_eq!(subject.get("end").await, None);
}

/// One makes, changes and removes a document, and the other one sees each of it, and has the last word.
async fn is_seen(subject: &Subject, name: &str, one: &dyn Store, other: &dyn Store) {
    let path = subject.path(name);
    let mut watch = subject.watch_of(other).await;
    let created = one.write_one(subject.creation(name, 1)).await.expect("create");
    let updated = one.write_one(subject.update(name, created, 2)).await.expect("update");
    let read = other.get(&path).await.expect("get").expect("what the other process wrote");
    assert_eq!((read.version, content(&read)), (updated, 2));
    let listed = other.list_all(&subject.prefix()).await.expect("list");
    assert!(listed.contains(&read), "a list has it too");
    assert_eq!(watch.until_put(&path, updated).await, read);
    one.write_one(subject.deletion(name, updated)).await.expect("delete");
    assert_eq!(other.get(&path).await.expect("get"), None);
    watch.until_deleted(&path).await;
    let again = other.write_one(subject.creation(name, 3)).await.expect("create");
    assert!(again > updated, "{again:?} after {updated:?}");
}

/// One document names an owner, who renews it. Who wants it when it is free, or when nothing renews it any more, replaces the version
/// that he saw: one of all has it then, and the others are told which version, also the owner that comes too late.
pub async fn of_many_who_take_a_lease_one_has_it(subject: &Subject) {
    let mut processes = Vec::new();
    for _ in 0..PROCESSES {
        processes.push(subject.beside().await);
    }
    let (mut owner, mut seen) = (PROCESSES, subject.create("lease", PROCESSES).await);
    for _ in 0..TAKEOVERS {
        let takers = (0..).zip(&processes).filter(|(process, _)| *process != owner);
        let (winner, taken) = take(subject, takers, seen).await;
        for store in &processes {
            let entry = store.get(&subject.path("lease")).await.expect("get").expect("the lease");
            assert_eq!((entry.version, content(&entry)), (taken, winner));
        }
        if let Some((_, former)) = (0..).zip(&processes).find(|(process, _)| *process == owner) {
            let late = former.write_one(subject.update("lease", seen, owner)).await;
            subject.assert_conflict(&late.expect_err("a renewal that is too late"), "lease", Some(taken));
        }
        let (_, holder) = (0..).zip(&processes).find(|(process, _)| *process == winner).expect("the winner");
        seen = holder.write_one(subject.update("lease", taken, winner)).await.expect("a renewal");
        for store in &processes {
            let early = store.write_one(subject.update("lease", taken, PROCESSES)).await;
            subject.assert_conflict(&early.expect_err("taken from one who renews"), "lease", Some(seen));
        }
        owner = winner;
    }
}

/// Lets all take the lease at the same time; gives who has it then.
async fn take<'a>(
    subject: &Subject,
    takers: impl Iterator<Item = (u64, &'a Arc<dyn Store>)>,
    seen: Version,
) -> (u64, Version) {
    let attempts = takers.map(|(process, store)| {
        let (store, update) = (store.clone(), subject.update("lease", seen, process));
        tokio::spawn(async move { (process, store.write_one(update).await) })
    });
    let (mut winners, mut errors) = (Vec::new(), Vec::new());
    for attempt in attempts.collect::<Vec<_>>() {
        match attempt.await.expect("a taker") {
            (process, Ok(version)) => winners.push((process, version)),
            (_, Err(error)) => errors.push(error),
        }
    }
    assert_eq!(winners.len(), 1, "one has the lease: {winners:?}");
    for error in errors {
        subject.assert_conflict(&error, "lease", Some(winners[0].1));
    }
    winners[0]
}

/// What counts is written last. Whoever writes several batches and is cut off between any two writes leaves the earlier whole to all
/// readers; who comes next finishes what he left.
pub async fn a_cut_list_of_batches_is_finished_by_the_next(subject: &Subject) {
    let mut head = subject.create("head", 0).await;
    finish(&*subject.store(), parts(subject, 0)).await;
    for (generation, cut) in (1..).zip(0..=PARTS + 1) {
        let mut writes = parts(subject, generation);
        writes.push(subject.update("head", head, generation));
        for batch in writes[..cut].chunks(BATCH) {
            subject.batch(batch).await.expect("batch");
        }
        let next = subject.later().await;
        let counts = if cut == writes.len() { generation } else { generation - 1 };
        assert_eq!(whole(subject, &*next).await, counts, "cut off after {cut} writes");
        finish(&*next, writes).await;
        assert_eq!(whole(subject, &*next).await, generation, "finished after {cut} writes");
        head = next.get(&subject.path("head")).await.expect("get").expect("the head").version;
    }
}

fn parts(subject: &Subject, generation: u64) -> Vec<Write> {
    (0..PARTS).map(|part| subject.creation(&format!("{generation}/{part}"), generation)).collect()
}

/// Which generation counts; all of it must be there.
async fn whole(subject: &Subject, store: &dyn Store) -> u64 {
    let generation = content(&store.get(&subject.path("head")).await.expect("get").expect("the head"));
    let folder = Prefix::below(&subject.path(&generation.to_string()));
    let parts = store.list_all(&folder).await.expect("list");
    assert_eq!(parts.iter().map(content).collect::<Vec<_>>(), [generation; PARTS]);
    generation
}
