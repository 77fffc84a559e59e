//! Reads documents.

use std::sync::{Mutex, mpsc};

use dcm_core::port::store::{Document, Entry, Error, Page, Path, Prefix, Version};
use rusqlite::{Connection, OptionalExtension, Row};

use super::Read;
use super::failure::of_sqlite;
use crate::lock::lock;
use crate::rules;

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
    let found = connection
        .prepare_cached(GET)
        .and_then(|mut get| get.query_row((path.as_str(),), entry).optional())
        .map_err(of_sqlite)?;
    Ok(found.flatten())
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
    let mut rows = list.query((after,)).map_err(of_sqlite)?;
    let mut entries: Vec<Entry> = Vec::new();
    while let Some(row) = rows.next().map_err(of_sqlite)? {
        if !is_below(prefix, row).map_err(of_sqlite)? {
            break;
        }
        let Some(found) = entry(row).map_err(of_sqlite)? else { continue };
        if entries.len() == limit {
            let next = entries.last().map(|last| last.path.clone());
            return Ok(Page { entries, next });
        }
        entries.push(found);
    }
    Ok(Page { entries, next: None })
}

/// Whether the text of a row's path begins as those below a prefix, be it a path or not.
fn is_below(prefix: &Prefix, row: &Row<'_>) -> rusqlite::Result<bool> {
    let text = row.get_ref(0)?.as_bytes();
    Ok(text.is_ok_and(|text| text.starts_with(prefix.as_str().as_bytes())))
}

/// A row (its path, version and document, in this order) as an entry; none when it has no path, and so is none of ours.
pub(super) fn entry(row: &Row<'_>) -> rusqlite::Result<Option<Entry>> {
    let Some(path) = path(row)? else { return Ok(None) };
    let version = version(row.get(1)?);
    let document = match row.get_ref(2)?.as_str() {
        _ if version.is_none() => Document::unreadable(rules::unreadable_version(&path)),
        Ok(text) => Document::from_stored(text),
        Err(_) => Document::unreadable(Error::Failed {
            reason: format!("the content of {path} is no text"),
            source: None,
        }),
    };
    Ok(Some(Entry { path, version: version.unwrap_or(Version::UNREADABLE), document }))
}

/// The path of a row; none when its text is none.
pub(super) fn path(row: &Row<'_>) -> rusqlite::Result<Option<Path>> {
    let text = row.get_ref(0)?.as_str();
    Ok(text.ok().and_then(|text| Path::new(text).ok()))
}

/// A version as it is stored; none for a number that no document is given.
pub(super) fn version(number: i64) -> Option<Version> {
    u64::try_from(number).ok().map(Version).filter(|version| *version != Version::UNREADABLE)
}
