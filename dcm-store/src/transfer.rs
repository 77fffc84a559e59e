//! All documents of a store as one stream of lines, from any backend to any other.
//!
//! The first line says what it is; each of the next ones is one document, in the order of their paths; the last one says how many
//! there were:
//!
//! ```text
//! {"dcmStoreExport":1}
//! {"path":"projects/p","document":{"schema":1}}
//! {"end":1}
//! ```
//!
//! Documents stay as they are kept: with their secrets sealed and their MAC, to be read with the same keys. A document with a secret in clear is not exported. Versions
//! are not part of it, nor is the word by which a store tells its keys ([`SEALED_WITH`]): where secrets come from elsewhere it
//! says nothing any more, so that an import removes it, and who opens the store next tries the keys on the secrets.
//!
//! What is written during an export may be in it or not: stop who works on the store first.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read as _};
use std::iter;
use std::pin::pin;

use dcm_core::port::in_order::InOrder;
use dcm_core::port::store::{
    DOCUMENT_BYTES_MAX, Document, Entry, Error, PATH_BYTES_MAX, Page, PageRequest, Path, Prefix, Store,
    StoreExt as _, Write,
};
use futures::{Stream, StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::rules;
use crate::signed::MAC_BYTES_MAX;

/// The form of the lines that this version writes, and the only one that it reads.
pub const FORMAT: u32 = 1;

/// Longest line of an export, in bytes: the largest document with its MAC at the longest path, with each byte escaped (`\u0001`), and
/// room for what stands around them.
pub const LINE_BYTES_MAX: usize = 6 * (DOCUMENT_BYTES_MAX + MAC_BYTES_MAX + PATH_BYTES_MAX) + 64;

/// The room of what an encrypted store tells its keys by.
pub const SEALED_WITH: &str = "sealed-with";

/// How many documents are written at a time.
const WRITES: usize = 100;

/// One line: which of its members are there says what it is.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    #[serde(rename = "dcmStoreExport", skip_serializing_if = "Option::is_none")]
    format: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(borrow, default, deserialize_with = "any_json", skip_serializing_if = "Option::is_none")]
    document: Option<&'a RawValue>,
    /// In place of a document whose JSON is not one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<u64>,
}

/// Also `null` is a document.
fn any_json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Why documents could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The store.
    #[error(transparent)]
    Store(#[from] Error),
    /// A secret would be seen.
    #[error("{path} holds a secret in clear")]
    ClearSecret {
        /// Where.
        path: Path,
    },
}

/// Why documents could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError<E> {
    /// A line can't be read.
    #[error("line {line} can't be read")]
    Read {
        /// Which one, from 1.
        line: u64,
        /// What happened below.
        #[source]
        source: E,
    },
    /// A line is none of an export.
    #[error("line {line} is none of an export of form {FORMAT}: {reason}")]
    Malformed {
        /// Which one, from 1.
        line: u64,
        /// What is wrong, without its content.
        reason: String,
    },
    /// There is another document already.
    #[error("{path} is there already, with other content: nothing is written over")]
    Exists {
        /// Where.
        path: Path,
    },
    /// The last line is missing, or counts other documents.
    #[error("the export is not whole: it ends after {documents} documents")]
    CutOff {
        /// How many there were.
        documents: u64,
    },
    /// The store.
    #[error(transparent)]
    Store(#[from] Error),
}

/// The lines of an export, each with its end.
pub fn export(store: &dyn Store) -> impl Stream<Item = Result<String, ExportError>> + Send + '_ {
    let beginning = stream::once(async { Ok(line(&Line { format: Some(FORMAT), ..Line::default() })) });
    beginning.chain(stream::try_unfold(Some((PageRequest::default(), 0)), move |place| async move {
        let Some((request, documents)) = place else { return Ok(None) };
        let Page { mut entries, next } = store.list(&Prefix::everything(), &request).await?;
        entries.retain(|entry| entry.path.as_str() != SEALED_WITH);
        let documents = documents + entries.len() as u64;
        let mut lines = entries.iter().map(exported).collect::<Result<String, _>>()?;
        if next.is_none() {
            lines += &line(&Line { end: Some(documents), ..Line::default() });
        }
        let place = next.map(|next| (PageRequest { after: Some(next), limit: None }, documents));
        Ok(Some((lines, place)))
    }))
}

fn exported(entry: &Entry) -> Result<String, ExportError> {
    let (path, text) = (Some(entry.path.to_string()), entry.document.text()?);
    if rules::has_clear_secret(&entry.document)? {
        return Err(ExportError::ClearSecret { path: entry.path.clone() });
    }
    let whole = serde_json::from_str::<&RawValue>(text).ok().filter(|document| document.get() == text);
    let document = whole.filter(|_| !text.contains(['\n', '\r']));
    let text = document.is_none().then(|| text.to_owned());
    Ok(line(&Line { path, document, text, ..Line::default() }))
}

fn line(line: &Line<'_>) -> String {
    serde_json::to_string(line).unwrap_or_else(|_| unreachable!("numbers, texts and JSON have a JSON form"))
        + "\n"
}

/// The lines of a reader for [`import`], without their ends; one that no export can have is an error, before it is read to its end.
pub fn lines(mut reader: impl BufRead) -> impl Iterator<Item = io::Result<String>> {
    iter::from_fn(move || next_line(&mut reader).transpose())
}

fn next_line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    reader.by_ref().take(LINE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    line.pop_if(|last| *last == b'\n');
    let invalid = |reason: String| io::Error::new(io::ErrorKind::InvalidData, reason);
    if line.len() > LINE_BYTES_MAX {
        return Err(invalid(format!(
            "it has more than {LINE_BYTES_MAX} bytes, the most that a line can have"
        )));
    }
    String::from_utf8(line).map(Some).map_err(|_| invalid("it is not UTF-8".into()))
}

/// Makes all documents of an export, and says after each step how many there were. What is there already with the same content is
/// left: an import that was cut off goes on when it is begun again.
///
/// # Errors
/// [`ImportError`]: what was made before stays, and was told.
pub async fn import<E>(
    store: &dyn Store,
    lines: impl Stream<Item = Result<String, E>> + Send,
    mut progress: impl FnMut(u64) + Send,
) -> Result<u64, ImportError<E>> {
    let mut reading = Reading::default();
    let read = lines.map(|text| reading.next(text)).try_filter_map(|write| async { Ok(write) });
    let mut chunks = Box::pin(read.try_chunks(WRITES));
    let (mut documents, mut after) = (0, None);
    while let Some(chunk) = chunks.next().await {
        let (writes, failed) = match chunk {
            Ok(writes) => (writes, None),
            Err(failure) => (failure.0, Some(failure.1)),
        };
        documents += writes.len() as u64;
        let last = writes.last().map(|write| write.path().clone());
        make(store, after.take(), writes).await?;
        after = last;
        progress(documents);
        if let Some(failed) = failed {
            return Err(failed);
        }
    }
    drop(chunks);
    if reading.is_over { Ok(documents) } else { Err(ImportError::CutOff { documents }) }
}

/// Removes what tells the keys of a store.
async fn forget_word(store: &dyn Store) -> Result<(), Error> {
    let path = Path::new(SEALED_WITH).unwrap_or_else(|_| unreachable!("a name is a path"));
    while let Some(Entry { version, .. }) = store.get(&path).await? {
        match store.write_one(Write::Delete { path: path.clone(), version }).await {
            Ok(_) => break,
            Err(Error::Conflict { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// How far the lines were read.
#[derive(Default)]
struct Reading {
    lines: u64,
    documents: u64,
    last: Option<Path>,
    is_over: bool,
}

impl Reading {
    /// The write that a line asks for.
    fn next<E>(&mut self, text: Result<String, E>) -> Result<Option<Write>, ImportError<E>> {
        self.lines += 1;
        let number = self.lines;
        let malformed = |reason: &str| ImportError::Malformed { line: number, reason: reason.to_owned() };
        let text = text.map_err(|source| ImportError::Read { line: number, source })?;
        let read =
            serde_json::from_str::<Line<'_>>(&text).map_err(|_| malformed("it can't be understood"))?;
        let (path, document) = match read {
            Line { format: Some(FORMAT), path: None, document: None, text: None, end: None }
                if number == 1 =>
            {
                return Ok(None);
            }
            _ if number == 1 => return Err(malformed("it does not say that it is one")),
            _ if self.is_over => return Err(malformed("it is behind the end")),
            Line { end: Some(end), path: None, document: None, text: None, format: None } => {
                self.is_over = end == self.documents;
                let cut_off = ImportError::CutOff { documents: self.documents };
                return if self.is_over { Ok(None) } else { Err(cut_off) };
            }
            Line { path: Some(path), document: Some(document), text: None, end: None, format: None } => {
                (path, document.get().to_owned())
            }
            Line { path: Some(path), text: Some(text), document: None, end: None, format: None } => {
                (path, text)
            }
            _ => return Err(malformed("it is neither a document nor the end")),
        };
        self.documents += 1;
        let path = Path::new(&path).map_err(|error| malformed(&error.to_string()))?;
        if self.last.replace(path.clone()).is_some_and(|last| last >= path) {
            return Err(malformed("its path is not behind the one before"));
        }
        Ok(Some(Write::Create { path, document: Document::from_stored(document) }))
    }
}

/// Makes documents, but for those that are there. `after` is the one before them.
async fn make<E>(
    store: &dyn Store,
    after: Option<Path>,
    mut writes: Vec<Write>,
) -> Result<(), ImportError<E>> {
    let Some(last) = writes.last().map(|write| write.path().clone()) else { return Ok(()) };
    let there = there(store, after, &last, &writes).await?;
    for write in &writes {
        let found = there.get(write.path());
        if found.is_some_and(|found| Some(found) != write.document()) {
            return Err(ImportError::Exists { path: write.path().clone() });
        }
    }
    writes.retain(|write| !there.contains_key(write.path()));
    if writes.is_empty() {
        return Ok(());
    }
    forget_word(store).await?;
    match InOrder::new(writes).go_on(store).await? {
        Some(conflict) => Err(ImportError::Exists { path: conflict.write.path().clone() }),
        None => Ok(()),
    }
}

/// What lies where these writes go, which are in order, the last one at `last`.
async fn there(
    store: &dyn Store,
    after: Option<Path>,
    last: &Path,
    writes: &[Write],
) -> Result<BTreeMap<Path, Document>, Error> {
    let first = PageRequest { after, limit: Some(WRITES) };
    let mut pages = pin!(store.pages(Prefix::everything(), first));
    let mut there = BTreeMap::new();
    while let Some(entries) = pages.try_next().await? {
        let goes_on = entries.last().is_none_or(|entry| entry.path < *last);
        let is_wanted = |entry: &Entry| writes.binary_search_by_key(&&entry.path, Write::path).is_ok();
        let wanted = entries.into_iter().filter(is_wanted);
        there.extend(wanted.map(|entry| (entry.path, entry.document)));
        if !goes_on {
            break;
        }
    }
    Ok(there)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_up_to_the_longest_that_an_export_can_have() {
        let longest = "x".repeat(LINE_BYTES_MAX);
        let text = format!("\nfirst\n{longest}\nlast");
        let read: Vec<String> = lines(text.as_bytes()).map(Result::unwrap).collect();
        assert_eq!(read, ["", "first", &longest, "last"]);
        let endless = io::BufReader::new(io::repeat(b'x'));
        let error = lines(endless).next().unwrap().unwrap_err();
        assert!(error.to_string().contains(&LINE_BYTES_MAX.to_string()), "{error}");
    }

    #[test]
    fn the_longest_line_has_room_for_the_largest_document_however_it_is_escaped() {
        let path = Path::new("\u{fc}".repeat(PATH_BYTES_MAX / 2)).unwrap();
        let document = Document::from_stored("\u{1}".repeat(DOCUMENT_BYTES_MAX));
        let entry = Entry { path, version: dcm_core::port::store::Version(1), document };
        let line = exported(&entry).unwrap();
        assert!(line.trim_end().len() <= LINE_BYTES_MAX, "{}", line.len());
    }
}
