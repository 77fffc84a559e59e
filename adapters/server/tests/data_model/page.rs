//! The page `docs/data-model.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use dcm_core::port::room::Room;

use crate::samples::Seen;

const INTRODUCTION: &str = include_str!("introduction.md");

/// The whole text: each room with its samples.
pub(crate) fn page(rooms: &[Room], seen: &BTreeMap<&str, Seen>) -> String {
    let mut text = INTRODUCTION.to_owned();
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
        "\n### {name}\n\n{holds}.\n\n- Path: `{path}`\n- Written by: {made_by}\n- Key fields: {fields}\n- Encrypted: \
         {encrypted}\n",
        name = room.name,
        holds = capitalised(room.holds),
        path = room.pattern(),
        made_by = room.made_by,
        fields = listed(fields),
    );
    for (form, sample) in &seen.samples {
        let form = if form.is_empty() { String::new() } else { format!(" ({form})") };
        let _ = write!(text, "\n`{}`{form}:\n\n```json\n{}\n```\n", sample.path, sample.json);
    }
    text
}

fn listed(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}
