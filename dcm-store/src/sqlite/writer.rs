//! Writes documents and tells watches, on one thread: what is told comes in the order in which it was committed.

use std::iter;
use std::sync::mpsc::{self, RecvTimeoutError};

use dcm_core::port::store::{Change, Document, Entry, Error, Path, Prefix, Version, Watch, Write};
use futures::channel::oneshot;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Params};
use tokio::sync::OwnedSemaphorePermit;

use super::POLL_INTERVAL;
use super::failure::{of_sqlite, refused};
use super::reader;
use crate::hub::{Hub, PENDING_BYTES_MAX, PENDING_MAX, bytes_of};
use crate::rules;

/// Most batches that are committed together: their callers all wait for the slowest.
const GROUP_MAX: usize = 128;

/// How many changes the file remembers for watches of other processes: far more than one writes between two looks.
const CHANGES_KEPT: i64 = 65_536;

/// Old changes are removed once in so many: one by one it would cost each write some pages more.
const PRUNE_EVERY: i64 = 1024;

const COUNTER: &str = "SELECT version FROM counter";
const SET_COUNTER: &str = "UPDATE counter SET version = ?1";
const FOUND: &str = "SELECT version FROM documents WHERE path = ?1";
const CREATE: &str = "INSERT INTO documents (path, version, document) VALUES (?1, ?2, ?3)";
const UPDATE: &str = "UPDATE documents SET version = ?2, document = ?3 WHERE path = ?1";
const DELETE: &str = "DELETE FROM documents WHERE path = ?1";
const CHANGED: &str = "INSERT INTO changes (version, path) VALUES (?1, ?2)";
const PRUNE: &str = "DELETE FROM changes WHERE version <= ?1";
const CHANGES_SINCE: &str = "
    SELECT changed.path, documents.version, documents.document
    FROM (SELECT DISTINCT path FROM changes WHERE version > ?1) AS changed LEFT JOIN documents USING (path)";

/// What the thread is asked. The permit is held until it is done.
pub(super) enum Command {
    /// Apply a batch, wholly or not at all.
    Write {
        batch: Vec<Write>,
        answer: oneshot::Sender<Result<Vec<Version>, Error>>,
        permit: OwnedSemaphorePermit,
    },
    /// Follow a prefix.
    Watch { prefix: Prefix, answer: oneshot::Sender<Result<Watch, Error>>, permit: OwnedSemaphorePermit },
}

/// Does what is asked until the store is dropped.
pub(super) fn run(connection: Connection, commands: &mpsc::Receiver<Command>) {
    let mut writer = Writer { connection, hub: Hub::new(PENDING_MAX), seen: 0 };
    while let Some(first) = writer.next(commands) {
        let mut batches = Vec::new();
        let mut callers = Vec::new();
        for command in iter::once(first).chain(commands.try_iter().take(GROUP_MAX - 1)) {
            match command {
                Command::Write { batch, answer, permit } => {
                    batches.push(batch);
                    callers.push((answer, permit));
                }
                Command::Watch { prefix, answer, permit } => {
                    let _ = answer.send(writer.watch(&prefix));
                    drop(permit);
                }
            }
        }
        if batches.is_empty() {
            continue;
        }
        let outcomes = writer.commit(&batches).unwrap_or_else(|error| vec![Err(error); batches.len()]);
        for ((answer, permit), outcome) in callers.into_iter().zip(outcomes) {
            let _ = answer.send(outcome);
            drop(permit);
        }
    }
}

struct Writer {
    connection: Connection,
    hub: Hub,
    /// The counter up to which watches were told. Without meaning while nobody watches.
    seen: i64,
}

impl Writer {
    /// The next command; none when the store was dropped. Looks for changes by others meanwhile.
    fn next(&mut self, commands: &mpsc::Receiver<Command>) -> Option<Command> {
        loop {
            if self.hub.is_empty() {
                return commands.recv().ok();
            }
            match commands.recv_timeout(POLL_INTERVAL) {
                Ok(command) => return Some(command),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    if self.catch_up().is_err_and(|error| !error.is_retryable()) {
                        self.hub.lose_all();
                    }
                }
            }
        }
    }

    fn watch(&mut self, prefix: &Prefix) -> Result<Watch, Error> {
        // Changes after this are told, and none before it to those who asked for later ones only.
        self.catch_up()?;
        Ok(self.hub.subscribe(prefix))
    }

    /// Tells watches what others have written since the last look.
    fn catch_up(&mut self) -> Result<(), Error> {
        // Of one moment: others may remove old changes between one look and the next.
        let is_outside = self.connection.is_autocommit();
        let _moment =
            is_outside.then(|| self.connection.unchecked_transaction()).transpose().map_err(of_sqlite)?;
        let counter = counter(&self.connection)?;
        if counter == self.seen || self.hub.is_empty() {
            self.seen = counter;
            return Ok(());
        }
        // A lower counter is another file under the same name, such as a backup that was put back. After many changes the first
        // ones are not remembered any more.
        let is_told = (0..=CHANGES_KEPT).contains(&(counter - self.seen));
        match if is_told { changes_since(&self.connection, self.seen)? } else { None } {
            Some(changes) => self.hub.publish(&changes),
            None => self.hub.lose_all(),
        }
        self.seen = counter;
        Ok(())
    }

    /// Commits batches together: each is applied as a whole or refused, and none is answered before all are on disk.
    fn commit(&mut self, batches: &[Vec<Write>]) -> Result<Vec<Result<Vec<Version>, Error>>, Error> {
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(of_sqlite)?;
        let committed = self.catch_up().and_then(|()| self.apply(batches));
        if committed.is_err() {
            // Fails when SQLite rolled back already, as it does on a full disk.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        committed
    }

    fn apply(&mut self, batches: &[Vec<Write>]) -> Result<Vec<Result<Vec<Version>, Error>>, Error> {
        let mut group = Group { connection: &self.connection, counter: self.seen, changes: Vec::new() };
        let outcomes = batches.iter().map(|batch| group.apply(batch)).collect::<Result<Vec<_>, _>>()?;
        let Group { counter, changes, .. } = group;
        if counter == self.seen {
            self.connection.execute_batch("ROLLBACK").map_err(of_sqlite)?;
            return Ok(outcomes);
        }
        finish(&self.connection, self.seen, counter).map_err(of_sqlite)?;
        self.seen = counter;
        self.hub.publish(&changes);
        Ok(outcomes)
    }
}

/// Batches on their way into one transaction.
struct Group<'c> {
    connection: &'c Connection,
    counter: i64,
    changes: Vec<Change>,
}

impl Group<'_> {
    /// Applies a batch. The inner error refuses this batch, of which nothing was written; the outer one is of the whole
    /// transaction. No two writes are of one path, so all can be checked before the first is written.
    fn apply(&mut self, batch: &[Write]) -> Result<Result<Vec<Version>, Error>, Error> {
        for write in batch {
            if let Err(conflict) = check(self.connection, write)? {
                return Ok(Err(conflict));
            }
        }
        batch.iter().map(|write| self.write(write)).collect::<Result<_, _>>().map(Ok)
    }

    fn write(&mut self, write: &Write) -> Result<Version, Error> {
        self.counter += 1;
        let path = write.path();
        execute(self.connection, CHANGED, (self.counter, path.as_str()))?;
        match write {
            Write::Create { document, .. } => self.put(CREATE, path, document),
            Write::Update { document, .. } => self.put(UPDATE, path, document),
            Write::Delete { version, .. } => {
                execute(self.connection, DELETE, (path.as_str(),))?;
                self.changes.push(Change::Deleted(path.clone()));
                Ok(*version)
            }
        }
    }

    fn put(&mut self, statement: &str, path: &Path, document: &Document) -> Result<Version, Error> {
        execute(self.connection, statement, (path.as_str(), self.counter, document.as_str()))?;
        let Some(version) = reader::version(self.counter) else {
            return refused("the store's file is damaged: the last version that was given is negative");
        };
        self.changes.push(Change::Put(Entry { path: path.clone(), version, document: document.clone() }));
        Ok(version)
    }
}

/// Refuses a write whose expectation does not hold, by the inner error.
fn check(connection: &Connection, write: &Write) -> Result<Result<(), Error>, Error> {
    let path = write.path();
    let found: Option<i64> = connection
        .prepare_cached(FOUND)
        .and_then(|mut found| found.query_row((path.as_str(),), |row| row.get(0)).optional())
        .map_err(of_sqlite)?;
    let found = match found.map(reader::version) {
        Some(None) => return Ok(Err(rules::unreadable_version(path))),
        found => found.flatten(),
    };
    let expected = match write {
        Write::Create { .. } => None,
        Write::Update { version, .. } | Write::Delete { version, .. } => Some(*version),
    };
    Ok(if found == expected { Ok(()) } else { Err(Error::Conflict { path: path.clone(), found }) })
}

fn execute(connection: &Connection, statement: &str, values: impl Params) -> Result<(), Error> {
    let executed = connection.prepare_cached(statement).and_then(|mut statement| statement.execute(values));
    executed.map(drop).map_err(of_sqlite)
}

fn finish(connection: &Connection, before: i64, counter: i64) -> rusqlite::Result<()> {
    connection.prepare_cached(SET_COUNTER)?.execute((counter,))?;
    if counter / PRUNE_EVERY > before / PRUNE_EVERY {
        connection.prepare_cached(PRUNE)?.execute((counter - CHANGES_KEPT,))?;
    }
    connection.execute_batch("COMMIT")
}

fn counter(connection: &Connection) -> Result<i64, Error> {
    let counter =
        connection.prepare_cached(COUNTER).and_then(|mut counter| counter.query_row((), |row| row.get(0)));
    counter.map_err(of_sqlite)
}

/// What the paths that were written or deleted since then are now; none when that is more than any watch keeps.
fn changes_since(connection: &Connection, seen: i64) -> Result<Option<Vec<Change>>, Error> {
    let mut statement = connection.prepare_cached(CHANGES_SINCE).map_err(of_sqlite)?;
    let rows = statement.query_map((seen,), |row| match row.get_ref(1)? {
        ValueRef::Null => Ok(reader::path(row)?.map(Change::Deleted)),
        _ => Ok(reader::entry(row)?.map(Change::Put)),
    });
    let (mut changes, mut bytes) = (Vec::new(), 0);
    for change in rows.map_err(of_sqlite)?.filter_map(Result::transpose) {
        let change = change.map_err(of_sqlite)?;
        bytes += bytes_of(&change);
        if bytes > PENDING_BYTES_MAX {
            return Ok(None);
        }
        changes.push(change);
    }
    Ok(Some(changes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::connection;
    use futures::{FutureExt, StreamExt};

    fn writer(folder: &tempfile::TempDir) -> Writer {
        let file = folder.path().join("store.db");
        connection::make_file(&file).unwrap();
        Writer { connection: connection::connect(&file).unwrap(), hub: Hub::new(PENDING_MAX), seen: 0 }
    }

    fn create(path: &str, text: &str) -> Vec<Write> {
        vec![Write::Create { path: Path::new(path).unwrap(), document: Document::from_stored(text) }]
    }

    fn delete(path: &str, version: Version) -> Vec<Write> {
        vec![Write::Delete { path: Path::new(path).unwrap(), version }]
    }

    fn told(watch: &mut Watch) -> Vec<Change> {
        iter::from_fn(|| watch.next().now_or_never().flatten()).collect()
    }

    #[test]
    fn batches_of_one_group_stand_or_fall_on_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(&folder);
        let torn = [create("b", "{}"), create("a", "{}")].concat();
        let outcomes = writer.commit(&[create("a", "{}"), torn, create("b", "{}")]).unwrap();
        assert_eq!(outcomes[0].as_ref().unwrap(), &[Version(1)]);
        assert!(matches!(outcomes[1], Err(Error::Conflict { found: Some(Version(1)), .. })));
        assert_eq!(outcomes[2].as_ref().unwrap(), &[Version(2)]);
    }

    #[test]
    fn a_write_of_what_is_damaged_fails_its_own_batch_only() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(&folder);
        writer.commit(&[create("damaged", "{}")]).unwrap();
        for damage in ["-1", "0"] {
            let damage = format!("UPDATE documents SET version = {damage}");
            writer.connection.execute_batch(&damage).unwrap();
            for write in [create("damaged", "{}"), delete("damaged", Version::UNREADABLE)] {
                let (before, after) = (create("b", "{}"), create("a", "{}"));
                let outcomes = writer.commit(&[before, [write, after.clone()].concat(), after]).unwrap();
                let versions = [0, 2].map(|beside| outcomes[beside].as_ref().unwrap()[0]);
                let refused = outcomes[1].as_ref().unwrap_err();
                assert!(matches!(refused, Error::Failed { reason, .. } if reason.contains("damaged")));
                writer.commit(&[delete("b", versions[0]), delete("a", versions[1])]).unwrap();
            }
        }
    }

    #[test]
    fn a_full_disk_fails_with_the_reason_and_leaves_the_store_usable() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(&folder);
        writer.connection.pragma_update(None, "max_page_count", 20).unwrap();
        let large = format!("\"{}\"", "x".repeat(200_000));
        let error = writer.commit(&[create("a", &large)]).unwrap_err();
        assert!(matches!(&error, Error::Failed { reason, .. } if reason == "the disk is full"), "{error:?}");
        assert_eq!(writer.commit(&[create("a", "{}")]).unwrap()[0].as_ref().unwrap(), &[Version(1)]);
    }

    #[test]
    fn a_file_that_can_not_be_written_fails_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(&folder);
        writer.connection.pragma_update(None, "query_only", "ON").unwrap();
        let error = writer.commit(&[create("a", "{}")]).unwrap_err();
        assert!(matches!(&error, Error::Failed { reason, .. } if reason.contains("written")), "{error:?}");
    }

    #[test]
    fn a_locked_file_is_not_available_and_worth_a_retry() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, other) = (writer(&folder), writer(&folder));
        writer.connection.busy_timeout(std::time::Duration::ZERO).unwrap();
        other.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert!(writer.commit(&[create("a", "{}")]).unwrap_err().is_retryable());
        other.connection.execute_batch("ROLLBACK").unwrap();
        assert!(writer.commit(&[create("a", "{}")]).is_ok());
    }

    #[test]
    fn changes_by_others_are_told_once_and_in_their_last_state() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, mut other) = (writer(&folder), writer(&folder));
        let mut watch = writer.watch(&Prefix::everything()).unwrap();
        other.commit(&[create("gone", "{}"), create("stays", "{}"), delete("gone", Version(1))]).unwrap();
        writer.catch_up().unwrap();
        let changes = told(&mut watch);
        assert_eq!(changes.len(), 2, "{changes:?}");
        assert!(changes.contains(&Change::Deleted(Path::new("gone").unwrap())));
        writer.catch_up().unwrap();
        assert!(told(&mut watch).is_empty());
        // Without a look of its own, a write finds them too, and versions go on.
        other.commit(&[create("other", "{}")]).unwrap();
        assert_eq!(writer.commit(&[create("mine", "{}")]).unwrap()[0].as_ref().unwrap(), &[Version(5)]);
        assert_eq!(told(&mut watch).len(), 2);
    }

    #[test]
    fn a_watch_that_fell_behind_what_the_file_remembers_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, other) = (writer(&folder), writer(&folder));
        let mut watch = writer.watch(&Prefix::everything()).unwrap();
        other.connection.execute_batch("UPDATE counter SET version = 70000").unwrap();
        writer.catch_up().unwrap();
        assert_eq!(told(&mut watch), [Change::Lost]);
    }

    #[test]
    fn a_watch_that_fell_behind_more_than_it_keeps_is_lost_before_all_of_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, mut other) = (writer(&folder), writer(&folder));
        let mut watch = writer.watch(&Prefix::everything()).unwrap();
        let text = format!("\"{}\"", "x".repeat(PENDING_BYTES_MAX / 4));
        for name in ["a", "b", "c"] {
            other.commit(&[create(name, &text)]).unwrap();
        }
        assert_eq!(changes_since(&writer.connection, 0).unwrap().map(|changes| changes.len()), Some(3));
        other.commit(&[create("d", &text)]).unwrap();
        assert_eq!(changes_since(&writer.connection, 0).unwrap(), None);
        writer.catch_up().unwrap();
        assert_eq!(told(&mut watch), [Change::Lost]);
    }

    #[test]
    fn old_changes_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(&folder);
        writer.commit(&[create("a", "{}")]).unwrap();
        writer
            .connection
            .execute("UPDATE counter SET version = ?1", (CHANGES_KEPT + PRUNE_EVERY - 1,))
            .unwrap();
        writer.commit(&[create("b", "{}")]).unwrap();
        let kept: Vec<i64> = {
            let mut kept = writer.connection.prepare("SELECT version FROM changes").unwrap();
            kept.query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        assert_eq!(kept, [CHANGES_KEPT + PRUNE_EVERY]);
    }
}
