//! The file: its making, its rights, its connections.

use std::path::Path as FilePath;
use std::time::Duration;

use dcm_core::port::store::Error;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::failure::{failed, of_sqlite, refused};
use super::schema;
use crate::private_file;

/// How long a call waits for the lock of another process before it says that the store is not available. Commits
/// take well under a millisecond; a checkpoint of a large log may take a second.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Largest log that is kept after its content was moved into the file, in bytes.
const LOG_BYTES_KEPT: i64 = 4 * 1024 * 1024;

/// Marks an SQLite file as a store of ours: `DCM` and a zero byte.
const APPLICATION_ID: i32 = 0x4443_4D00;

/// The schema that this version writes, and the newest that it reads.
const SCHEMA_VERSION: i32 = 1;

/// Makes the file when there is none: whole, and open to its owner only, before anybody else can see it. Takes from
/// others what rights they have to a file that is there.
pub(super) fn make_file(file: &FilePath) -> Result<(), Error> {
    if file.exists() {
        return restrict(file);
    }
    match private_file::create(file, |new| prepare(&connect(new)?)) {
        Ok(_) => Ok(()),
        Err(private_file::Failed::Filling(error)) => Err(error),
        Err(private_file::Failed::File(error)) => Err(failed("the store's file can't be made", error)),
    }
}

/// The same for a file that is to be there.
pub(super) fn find_file(file: &FilePath) -> Result<(), Error> {
    match file.try_exists() {
        Ok(true) => restrict(file),
        Ok(false) => Err(Error::Failed { reason: "there is no such file".into(), source: None }),
        Err(error) => Err(failed("the store's file can't be looked for", error)),
    }
}

/// Takes from others what rights they have to the file.
fn restrict(file: &FilePath) -> Result<(), Error> {
    for companion in ["", "-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(companion);
        private_file::restrict(FilePath::new(&name))
            .map_err(|error| failed("the rights of others can't be taken from the store's file", error))?;
    }
    Ok(())
}

/// Opens the file. Every connection of a store is made alike.
pub(super) fn connect(file: &FilePath) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // SQLite itself takes names for something else that begin with `file:` or a colon.
    let file = FilePath::new(".").join(file);
    let opened = Connection::open_with_flags(&file, flags).and_then(|connection| {
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "secure_delete", "ON")?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.pragma_update(None, "journal_size_limit", LOG_BYTES_KEPT)?;
        // None of ours is one, and another program may add some while the file is open.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
        Ok(connection)
    });
    opened.map_err(of_sqlite)
}

/// Checks that the file is a store which this version can write, and makes the tables in an empty file. A file with other tables,
/// indexes, triggers or views is refused.
pub(super) fn prepare(connection: &Connection) -> Result<(), Error> {
    let schema = check_identity(connection)?;
    let journal: String = connection
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
        .map_err(of_sqlite)?;
    if journal != "wal" {
        return refused("the file system does not carry SQLite's write-ahead log");
    }
    if connection.is_readonly("main").map_err(of_sqlite)? {
        return refused("the store's file can't be written");
    }
    if schema == 0 {
        make_tables(connection)?;
    }
    schema::check(connection)
}

/// The schema version of the file; 0 for an empty one.
fn check_identity(connection: &Connection) -> Result<i32, Error> {
    let number =
        |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0)).map_err(of_sqlite);
    let (application, schema) = (number("application_id")?, number("user_version")?);
    let tables: i32 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))
        .map_err(of_sqlite)?;
    match (application, schema) {
        (0, 0) if tables == 0 => Ok(0),
        (APPLICATION_ID, SCHEMA_VERSION) => Ok(SCHEMA_VERSION),
        (APPLICATION_ID, newer) if newer > SCHEMA_VERSION => refused(format!(
            "the file was written by a newer version: its schema is {newer}, this version knows {SCHEMA_VERSION}"
        )),
        _ => refused("the file is an SQLite database of another program"),
    }
}

fn make_tables(connection: &Connection) -> Result<(), Error> {
    let make = || {
        let transaction = rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        // Somebody else may have been faster.
        let schema: i32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if schema == 0 {
            schema::make(&transaction)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        }
        transaction.commit()
    };
    make().map_err(of_sqlite)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_committed_is_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("store.db");
        make_file(&file).unwrap();
        let connection = connect(&file).unwrap();
        let text =
            |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, String>(0)).unwrap();
        let number =
            |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0)).unwrap();
        // 2 is FULL: the log is synced with each commit, not only when it is moved into the file.
        assert_eq!((text("journal_mode").as_str(), number("synchronous")), ("wal", 2));
    }

    #[test]
    fn a_file_that_can_only_be_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("store.db");
        make_file(&file).unwrap();
        let connection = Connection::open_with_flags(&file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        let error = prepare(&connection).unwrap_err();
        assert!(
            matches!(&error, Error::Failed { reason, .. } if reason.contains("can't be written")),
            "{error:?}"
        );
    }
}
