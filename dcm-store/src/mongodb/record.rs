//! A document as MongoDB keeps it.
//!
//! | Field | What it is |
//! |---|---|
//! | `_id` | the path |
//! | `version` | its version |
//! | `kind`, `project`, … | what kind of document it is, and the keys in its path, where its room is known ([`Room`]) |
//! | `changed` | when the server wrote it last: how watches find what is new |
//! | `document` | its fields, for people and for us ([`super::form`]) |
//! | `text` | its JSON, where the fields don't give it back |
//! | `deleted` | when it was deleted; then there is neither `document` nor `text`, and the record goes later |

use dcm_core::port::room::Room;
use dcm_core::port::store::{self, Entry, Error, Path, Version};
use mongodb::bson::{Bson, Document, Timestamp, doc};

use super::form;
use crate::rules;

pub(super) const ID: &str = "_id";
pub(super) const KIND: &str = "kind";
pub(super) const VERSION: &str = "version";
pub(super) const CHANGED: &str = "changed";
pub(super) const DELETED: &str = "deleted";
pub(super) const DOCUMENT: &str = "document";
pub(super) const TEXT: &str = "text";

/// An index of the collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Index {
    /// Its name.
    pub name: &'static str,
    /// The fields that it is over, in order.
    pub fields: &'static [&'static str],
    /// True when records without any of these fields are not in it.
    pub is_sparse: bool,
}

/// The indexes that a collection is given, beside that of `_id`, which every one has.
pub const INDEXES: [Index; 3] = [
    Index { name: CHANGED, fields: &[CHANGED], is_sparse: false },
    Index { name: DELETED, fields: &[DELETED], is_sparse: true },
    Index { name: KIND, fields: &[KIND, "project", "logicalCloud"], is_sparse: true },
];

/// The parts of a record that say which state of which document it is.
pub(super) fn head_fields() -> Document {
    doc! { VERSION: 1, CHANGED: 1, DELETED: 1 }
}

/// Which state of which document a record is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) path: Path,
    pub(super) version: Version,
    pub(super) is_deleted: bool,
}

impl Head {
    /// False for an earlier state of the document. Of what can't be read nobody knows.
    pub(super) fn is_as_new_as(&self, seen: &Self) -> bool {
        self.version >= seen.version || self.version == Version::UNREADABLE
    }
}

/// Reads the head of a record; none when its name is no path, and so none of ours.
pub(super) fn head(record: &Document) -> Option<Head> {
    let path = Path::new(record.get_str(ID).ok()?).ok()?;
    let version = record.get_i64(VERSION).ok().and_then(|version| u64::try_from(version).ok());
    let is_deleted = record.contains_key(DELETED);
    Some(Head { path, version: version.map_or(Version::UNREADABLE, Version), is_deleted })
}

/// A head, and when the server wrote the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dated {
    pub(super) head: Head,
    pub(super) changed: Timestamp,
}

/// When the server wrote a record.
pub(super) fn changed(record: &Document) -> Option<Timestamp> {
    record.get_timestamp(CHANGED).ok()
}

/// Reads the head of a record, with its time; none when it is none of ours.
pub(super) fn dated(record: &Document) -> Option<Dated> {
    Some(Dated { head: head(record)?, changed: changed(record)? })
}

/// Reads a record of a document that is there; none when it is none of ours.
pub(super) fn entry(record: &Document) -> Option<Entry> {
    let Head { path, version, .. } = head(record)?;
    let text = match (record.get(TEXT), record.get(DOCUMENT)) {
        (Some(Bson::String(text)), _) => Some(text.clone()),
        (None, Some(fields)) => form::text(fields),
        _ => None,
    };
    let document = match text {
        _ if version == Version::UNREADABLE => store::Document::unreadable(rules::unreadable_version(&path)),
        Some(text) => store::Document::from_stored(text),
        None => store::Document::unreadable(damaged(&path)),
    };
    Some(Entry { path, version, document })
}

/// What its path says, as fields of their own.
pub(super) fn keys(rooms: &[Room], path: &Path) -> Document {
    let found = rooms.iter().find_map(|room| Some((room, room.keys_of(path)?)));
    let Some((room, keys)) = found else { return Document::new() };
    let kind = [(KIND, room.name)].into_iter();
    kind.chain(keys).map(|(name, value)| (name.to_owned(), value.into())).collect()
}

/// What makes a record hold a document, and what it must not have then.
pub(super) fn content(document: &store::Document) -> (Document, Document) {
    match form::fields(document.as_str()) {
        Some(fields) => (doc! { DOCUMENT: fields }, doc! { TEXT: "" }),
        None => (doc! { TEXT: document.as_str() }, doc! { DOCUMENT: "" }),
    }
}

fn damaged(path: &Path) -> Error {
    Error::Failed { reason: format!("the record {path} has not the fields of a document"), source: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str) -> Document {
        let mut record = doc! { ID: "a/b", VERSION: 5_i64 };
        record.extend(content(&store::Document::from_stored(text)).0);
        record
    }

    #[test]
    fn a_document_comes_back_to_the_letter_by_its_fields_or_its_text() {
        for text in [r#"{"a.b":1}"#, r#"{ "a": 1.50 }"#, "null"] {
            let entry = entry(&record(text)).unwrap();
            assert_eq!(
                (entry.path.as_str(), entry.version, entry.document.as_str()),
                ("a/b", Version(5), text)
            );
        }
    }

    #[test]
    fn what_is_damaged_is_there_and_says_so() {
        for damaged in [
            doc! { ID: "a/b", VERSION: "5", DOCUMENT: {} },
            doc! { ID: "a/b", VERSION: 5_i64 },
            doc! { ID: "a/b", VERSION: 5_i64, DOCUMENT: { "x": mongodb::bson::oid::ObjectId::from_bytes([0; 12]) } },
        ] {
            let error = entry(&damaged).unwrap().document.text().unwrap_err().to_string();
            assert!(error.contains("a/b"), "{error}");
        }
    }

    #[test]
    fn what_has_no_path_is_none_of_ours() {
        for id in [Bson::from("a//b"), Bson::from(5)] {
            assert_eq!(entry(&doc! { ID: id, VERSION: 5_i64, DOCUMENT: {} }), None);
        }
    }
}
