//! The page `docs/data-model.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use dcm_core::port::room::Room;
use dcm_store::mongodb::{INDEXES, Index};

use crate::common::kept::WORKER;
use crate::data_model::samples::Seen;

const INTRODUCTION: &str = include_str!("introduction.md");

/// Where the introduction has the indexes.
const INDEXES_HERE: &str = "{indexes}";

/// The whole text: each room with its samples.
pub(crate) fn page(rooms: &[Room], seen: &BTreeMap<&str, Seen>) -> String {
    let mut text = INTRODUCTION.replace(INDEXES_HERE, &listed(INDEXES.iter().map(index)));
    for (title, rooms) in parts(rooms) {
        let _ = write!(text, "\n## {title}\n\n| Path | What it holds |\n|---|---|\n");
        for room in &rooms {
            let _ = writeln!(text, "| [`{}`](#{}) | {} |", room.pattern(), room.name, room.holds);
        }
        for room in &rooms {
            text += &section(room, &seen[room.name]);
        }
    }
    text
}

/// The rooms of the store of documents, and those of the store of app contexts.
fn parts(rooms: &[Room]) -> [(&'static str, Vec<&Room>); 2] {
    let (contexts, documents) = rooms.iter().partition(|room| dcm_sync::ROOMS.contains(room));
    [("Documents", documents), ("App contexts and the work on them", contexts)]
}

fn section(room: &Room, seen: &Seen) -> String {
    let fields = [format!("`kind: \"{}\"`", room.name)].into_iter();
    let fields = fields.chain(room.keys.iter().map(|key| format!("`{key}`")));
    let encrypted = match seen.encrypted.is_empty() {
        true => "nothing".to_owned(),
        false => listed(seen.encrypted.iter().map(|field| format!("`{field}`"))),
    };
    let mut text = format!(
        "\n### {name}\n\n{holds}.\n\n- Path: `{path}`\n- Written by: {by}\n- Key fields: {fields}\n- Found by: \
         {found_by}\n- Encrypted: {encrypted}\n",
        name = room.name,
        holds = capitalised(room.holds),
        path = room.pattern(),
        by = written_by(&seen.by),
        found_by = found_by(room),
        fields = listed(fields),
    );
    for (form, sample) in &seen.samples {
        let form = if form.is_empty() { String::new() } else { format!(" ({form})") };
        let _ = write!(text, "\n`{}`{form}:\n\n```json\n{}\n```\n", sample.path, sample.json);
    }
    text
}

/// The calls, and then the worker.
fn written_by(by: &BTreeSet<&str>) -> String {
    let calls = by.iter().filter(|by| **by != WORKER).map(|call| format!("`{call}`"));
    listed(calls.chain(by.get(WORKER).map(|worker| (*worker).to_owned())))
}

/// The indexes by which the documents of one room are found: the path, and what an index has of its fields, beside those by which
/// what was changed or deleted is found in all rooms.
fn found_by(room: &Room) -> String {
    let has = |field: &&str| *field == "kind" || room.keys.contains(field);
    let of_kinds = INDEXES.iter().filter(|index| index.fields.contains(&"kind"));
    let fields = of_kinds.map(|index| {
        let fields = index.fields.iter().copied().take_while(has).map(|field| format!("`{field}`"));
        listed(fields)
    });
    format!("`_id`; {}", fields.collect::<Vec<_>>().join("; "))
}

fn index(index: &Index) -> String {
    let fields = listed(index.fields.iter().map(|field| format!("`{field}`")));
    format!("`{}` ({fields}{})", index.name, if index.is_sparse { ", sparse" } else { "" })
}

fn listed(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}
