//! The tables of the file, which are exactly those that are made here.
//!
//! The collation of a column decides which paths are equal, and a trigger, a view or an index can change what is read and written. So
//! a file with other tables, indexes, triggers or views is not opened.

use std::collections::BTreeSet;

use dcm_core::port::store::Error;
use rusqlite::{Connection, Row};

use super::failure::{of_sqlite, refused};

/// - `documents` has row ids: documents of some kilobytes lie better in the leaves of a table than in an index.
/// - `changes` says which path was written or deleted when, for watches of other processes; old rows go.
/// - `counter` holds the last version given to any write: it outlives deleted documents.
const SCHEMA: &str = "
    CREATE TABLE documents (
        path TEXT NOT NULL PRIMARY KEY COLLATE BINARY, version INTEGER NOT NULL, document TEXT NOT NULL
    ) STRICT;
    CREATE TABLE changes (version INTEGER PRIMARY KEY, path TEXT NOT NULL) STRICT;
    CREATE TABLE counter (row INTEGER PRIMARY KEY CHECK (row = 1), version INTEGER NOT NULL) STRICT;
    INSERT INTO counter VALUES (1, 0);";

/// Most parts of a schema that are read: ours has four.
const PARTS_MAX: u32 = 32;

/// Most parts that an error names, and most characters of each name.
const NAMED_MAX: usize = 5;
const NAME_CHARACTERS_MAX: usize = 64;

/// A table, index, trigger or view.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    kind: String,
    name: String,
    /// The table that it belongs to.
    table: String,
    /// How it was made, with single spaces; empty for an index that came with its table.
    sql: String,
}

/// Makes the tables.
pub(super) fn make(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(SCHEMA)
}

/// Checks that the file has all tables and indexes as they are made here, and nothing else.
pub(super) fn check(connection: &Connection) -> Result<(), Error> {
    let (ours, found) = (ours().map_err(of_sqlite)?, parts(connection).map_err(of_sqlite)?);
    let is_named = |part: &Part, others: &BTreeSet<Part>| {
        others.iter().any(|other| (&other.kind, &other.name) == (&part.kind, &part.name))
    };
    let wrong = found.difference(&ours).map(|part| {
        let what = if is_named(part, &ours) { "differs from ours" } else { "is not ours" };
        (part, what)
    });
    let missing =
        ours.difference(&found).filter(|part| !is_named(part, &found)).map(|part| (part, "is missing"));
    let words = |(part, what): (&Part, &str)| format!("the {} {what}", part.words());
    let wrong: Vec<String> = wrong.chain(missing).take(NAMED_MAX).map(words).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    refused(format!(
        "the file's tables are not those of a store: {}; restore a backup, or import an export into a new file",
        wrong.join(", ")
    ))
}

impl Part {
    fn words(&self) -> String {
        let short = |name: &str| name.chars().take(NAME_CHARACTERS_MAX).collect::<String>();
        let (name, table) = (short(&self.name), short(&self.table));
        if name == table {
            format!("{} {name:?}", short(&self.kind))
        } else {
            format!("{} {name:?} of {table:?}", short(&self.kind))
        }
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let text = |column| -> rusqlite::Result<String> {
            let bytes = row.get_ref(column)?.as_bytes_or_null().unwrap_or_default();
            Ok(String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned())
        };
        let sql = text(3)?.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Self { kind: text(0)?, name: text(1)?, table: text(2)?, sql })
    }
}

/// The parts of our schema, as this SQLite notes them.
fn ours() -> rusqlite::Result<BTreeSet<Part>> {
    let connection = Connection::open_in_memory()?;
    make(&connection)?;
    parts(&connection)
}

fn parts(connection: &Connection) -> rusqlite::Result<BTreeSet<Part>> {
    let mut parts = connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema LIMIT ?1")?;
    parts.query_map((PARTS_MAX,), Part::read)?.collect()
}
