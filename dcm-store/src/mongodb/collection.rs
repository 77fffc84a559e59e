//! What the collection and its indexes must be, so that it keeps what is written and finds a path by its bytes.

use mongodb::bson::{Bson, Document};

use super::record::{ID, INDEXES, Index};

/// Options of a collection that make it another thing than a place of records, and why each is refused.
const OPTIONS_REFUSED: [(&str, &str); 7] = [
    ("collation", "paths are compared bytewise"),
    ("viewOn", "a view holds no documents of its own"),
    ("pipeline", "a view holds no documents of its own"),
    ("timeseries", "documents are replaced and deleted"),
    ("capped", "documents would be removed to make room"),
    ("expireAfterSeconds", "documents would be removed by their age"),
    ("validator", "documents would be refused by a rule of another program"),
];

/// The type of a collection that is none of the others.
const COLLECTION: &str = "collection";

/// The collation that compares bytewise.
const SIMPLE: &str = "simple";

/// Checks what `listCollections` says of the collection.
///
/// # Errors
/// What it is, and why that is refused.
pub(super) fn check(listed: &Document) -> Result<(), String> {
    let kind = listed.get_str("type").unwrap_or(COLLECTION);
    let empty = Document::new();
    let options = listed.get_document("options").unwrap_or(&empty);
    let found =
        OPTIONS_REFUSED.iter().find(|(name, _)| options.get(name).is_some_and(|value| is_set(name, value)));
    match found {
        Some((name, why)) => Err(format!("it has the option {name}, and {why}")),
        None if kind != COLLECTION => Err(format!("it is a {kind:?} and not a collection")),
        None => Ok(()),
    }
}

fn is_set(name: &str, value: &Bson) -> bool {
    match value {
        Bson::Null | Bson::Boolean(false) => false,
        Bson::Document(value) if name == "collation" => {
            !value.get_str("locale").is_ok_and(|locale| locale == SIMPLE)
        }
        Bson::Document(value) => !value.is_empty(),
        Bson::Array(stages) => !stages.is_empty(),
        _ => true,
    }
}

/// Checks an index, as `listIndexes` returns it. Indexes of other names may be there for other programs, as long as they change nothing.
///
/// # Errors
/// The index, and why it is refused.
pub(super) fn check_index(index: &Document) -> Result<(), String> {
    let name = index.get_str("name").unwrap_or_default();
    let fields: Vec<&str> =
        index.get_document("key").into_iter().flat_map(Document::keys).map(String::as_str).collect();
    let has = |option: &str| index.get(option).is_some_and(|value| is_set(option, value));
    let is_of_ids = fields == [ID];
    let is_other = |ours: &Index| ours.name == name && ours.fields != fields;
    let why = if has("expireAfterSeconds") {
        "removes documents by their age"
    } else if has("unique") && !is_of_ids {
        "refuses documents that are alike"
    } else if is_of_ids && has("collation") {
        "has a collation, and paths are compared bytewise"
    } else if INDEXES.iter().any(is_other) {
        "has other fields than the store's own index of this name"
    } else {
        return Ok(());
    };
    Err(format!("its index {name:?} {why}"))
}

#[cfg(test)]
mod tests {
    use mongodb::bson::doc;

    use super::*;

    #[test]
    fn a_collection_with_options_that_do_not_matter_is_taken() {
        for options in [
            doc! {},
            doc! { "collation": { "locale": "simple" }, "capped": false, "validator": {}, "pipeline": [] },
            doc! { "clusteredIndex": { "key": { "_id": 1 }, "unique": true }, "storageEngine": { "wiredTiger": {} } },
        ] {
            assert_eq!(check(&doc! { "name": "DCM", "type": "collection", "options": options }), Ok(()));
        }
        assert_eq!(check(&doc! { "name": "DCM" }), Ok(()));
    }

    #[test]
    fn a_view_a_collation_and_what_removes_or_refuses_documents_are_refused_by_name() {
        for (kind, options, words) in [
            ("view", doc! { "viewOn": "other", "pipeline": [] }, "the option viewOn"),
            ("view", doc! {}, "it is a \"view\""),
            ("timeseries", doc! { "timeseries": { "timeField": "t" } }, "the option timeseries"),
            ("collection", doc! { "collation": { "locale": "en", "strength": 2 } }, "the option collation"),
            ("collection", doc! { "capped": true, "size": 4096 }, "the option capped"),
            ("collection", doc! { "expireAfterSeconds": 60_i64 }, "the option expireAfterSeconds"),
            ("collection", doc! { "validator": { "kind": "quotas" } }, "the option validator"),
        ] {
            let why = check(&doc! { "name": "DCM", "type": kind, "options": options }).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
    }

    #[test]
    fn an_index_is_refused_when_it_removes_or_refuses_documents_or_is_not_what_it_is_called() {
        let index = |name: &str, key: Document, more: Document| {
            let mut index = doc! { "v": 2, "name": name, "key": key };
            index.extend(more);
            check_index(&index)
        };
        for (name, key, more) in [
            ("_id_", doc! { "_id": 1 }, doc! { "unique": true }),
            ("changed", doc! { "changed": 1.0 }, doc! {}),
            ("theirs", doc! { "document.schema": -1 }, doc! { "sparse": true }),
        ] {
            assert_eq!(index(name, key, more), Ok(()));
        }
        for (name, key, more, words) in [
            ("_id_", doc! { "_id": 1 }, doc! { "collation": { "locale": "en" } }, "bytewise"),
            ("theirs", doc! { "at": 1 }, doc! { "expireAfterSeconds": 0 }, "by their age"),
            ("theirs", doc! { "kind": 1 }, doc! { "unique": true }, "are alike"),
            ("changed", doc! { "version": 1 }, doc! {}, "other fields"),
            ("kind", doc! { "project": 1, "kind": 1, "logicalCloud": 1 }, doc! {}, "other fields"),
        ] {
            let why = index(name, key, more).unwrap_err();
            assert!(why.contains(words) && why.contains(name), "{why}");
        }
    }
}
