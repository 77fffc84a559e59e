//! What is told of a room: one sample of each form of its documents, and which of their fields are encrypted.

use std::collections::{BTreeMap, BTreeSet};

use dcm_core::port::room::Room;
use dcm_core::port::store::{Document, Path};
use serde_json::Value;

use crate::common::kept::{Kept, Written};
use crate::data_model::play::NOBODY;
use crate::data_model::steady::{steady, steady_text};

/// The form of a credential whose user has the key, and brought a request.
pub(crate) const KEY_OF_THE_USER: &str = "certificate; the user keeps the key";

/// One document, with what is random taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) path: String,
    pub(crate) json: String,
}

/// What was seen of a room's documents.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// A sample by form; the form is empty where all documents have one.
    pub(crate) samples: BTreeMap<String, Sample>,
    /// The fields that stand encrypted in the store beneath.
    pub(crate) encrypted: BTreeSet<String>,
    /// The calls during which they were written.
    pub(crate) by: BTreeSet<&'static str>,
}

/// What was ever written, by the name of its room.
pub(crate) async fn seen(kept: &Kept, rooms: &[Room]) -> BTreeMap<&'static str, Seen> {
    let standing = kept.standing().await;
    let mut seen: BTreeMap<&str, Seen> = BTreeMap::new();
    // For each path and form the document that was written last, and for each form that of the richest path.
    let mut last: BTreeMap<(&str, String, Path), Document> = BTreeMap::new();
    for Written { path, document, by } in kept.written() {
        assert_ne!(by, NOBODY, "{path} was written by a call that the play does not name");
        let room = room_of(rooms, &path);
        let value = without_mac(&document);
        assert!(value["schema"].is_u64(), "{path} has no schema");
        let of_room = seen.entry(room.name).or_default();
        of_room.by.insert(by);
        encrypted(&value, "", &mut of_room.encrypted);
        last.insert((room.name, form(room, &path, &value), path), document);
    }
    for ((room, form, path), document) in last {
        let stands = standing.get(&path) == Some(&document);
        let value = steady(&without_mac(&document));
        let sample =
            Sample { path: steady_text(path.as_str()), json: serde_json::to_string_pretty(&value).unwrap() };
        let samples = &mut seen.get_mut(room).unwrap().samples;
        let known = samples.get(&form);
        if known.is_none_or(|known| stands && sample.json.len() > known.json.len()) {
            samples.insert(form, sample);
        }
    }
    seen
}

/// The content of a document. Each has a MAC, which the introduction shows once.
fn without_mac(document: &Document) -> Value {
    let mut value: Value = document.read().unwrap();
    let mac = value.as_object_mut().unwrap().remove("$mac").unwrap();
    assert_eq!(mac.as_object().unwrap().keys().collect::<Vec<_>>(), ["key", "tag"]);
    value
}

fn room_of<'r>(rooms: &'r [Room], path: &Path) -> &'r Room {
    let room = rooms.iter().find(|room| room.contains(path));
    room.unwrap_or_else(|| panic!("{path} lies in no room"))
}

/// What tells documents of one room apart that have other members.
fn form(room: &Room, path: &Path, value: &Value) -> String {
    let key = ["part", "half"].iter().find_map(|name| room.key(path, name));
    let material = &value["material"];
    if material["type"] == "certificate" && material["key"].is_null() {
        return KEY_OF_THE_USER.to_owned();
    }
    let members = [&value["stage"], &material["type"], &value["issued"]["type"]];
    let member = members.into_iter().find_map(Value::as_str);
    key.or(member).unwrap_or_default().to_owned()
}

/// Adds the fields that are encrypted, with `[]` for each item of an array.
fn encrypted(value: &Value, field: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) if members.contains_key("$sealed") => {
            found.insert(field.trim_start_matches('.').to_owned());
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| encrypted(value, &format!("{field}.{name}"), found));
        }
        Value::Array(items) => items.iter().for_each(|item| encrypted(item, &format!("{field}[]"), found)),
        _ => {}
    }
}
