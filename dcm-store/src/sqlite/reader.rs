//! Reads documents.

use std::sync::{Mutex, mpsc};

use dcm_core::port::store::{Document, Entry, Error, Page, Path, Prefix, Version};
use rusqlite::{Connection, OptionalExtension, Row};

use super::Read;
use super::failure::{of_sqlite, refused};
use crate::lock::lock;

const GET: &str = "SELECT path, version, document FROM documents WHERE path = ?1";
const LIST: &str = "SELECT path, version, document FROM documents WHERE path > ?1 ORDER BY path";

/// Reads what is asked until the store is dropped.
pub(super) fn run(connection: &Connection, waiting: &Mutex<mpsc::Receiver<Read>>) {
    loop {
        let next = lock(waiting).recv();
        match next {
            Ok(read) => read(connection),
            Err(mpsc::RecvError) => return,
        }
    }
}

pub(super) fn get(connection: &Connection, path: &Path) -> Result<Option<Entry>, Error> {
    let row = connection
        .prepare_cached(GET)
        .and_then(|mut get| get.query_row((path.as_str(),), columns).optional())
        .map_err(of_sqlite)?;
    row.map(entry).transpose()
}

/// One page. It is one statement, and so of one moment.
pub(super) fn list(
    connection: &Connection,
    prefix: &Prefix,
    after: Option<&Path>,
    limit: usize,
) -> Result<Page, Error> {
    let after = after.map_or("", Path::as_str).max(prefix.as_str());
    let mut list = connection.prepare_cached(LIST).map_err(of_sqlite)?;
    let mut entries = Vec::new();
    for row in list.query_map((after,), columns).map_err(of_sqlite)? {
        let found = entry(row.map_err(of_sqlite)?)?;
        if !prefix.contains(&found.path) {
            break;
        }
        if entries.len() == limit {
            let next = entries.last().map(|last: &Entry| last.path.clone());
            return Ok(Page { entries, next });
        }
        entries.push(found);
    }
    Ok(Page { entries, next: None })
}

/// Columns as they are stored.
pub(super) type Columns = (String, i64, Document);

/// The path, the version and the document of a row, in this order.
pub(super) fn columns(row: &Row<'_>) -> rusqlite::Result<Columns> {
    let path: String = row.get(0)?;
    let document = match row.get_ref(2)?.as_str() {
        Ok(text) => Document::from_stored(text),
        Err(_) => Document::unreadable(Error::Failed {
            reason: format!("the content of {path} is no text"),
            source: None,
        }),
    };
    Ok((path, row.get(1)?, document))
}

/// A row as an entry.
pub(super) fn entry((path, version, document): Columns) -> Result<Entry, Error> {
    Ok(Entry { path: parse_path(&path)?, version: parse_version(version)?, document })
}

pub(super) fn parse_path(text: &str) -> Result<Path, Error> {
    Path::new(text).or_else(|invalid| refused(format!("the store's file is damaged: {invalid}")))
}

pub(super) fn parse_version(number: i64) -> Result<Version, Error> {
    u64::try_from(number)
        .map(Version)
        .or_else(|_| refused("the store's file is damaged: a version is negative"))
}
