//! `docs/data-model.md` shows every kind of document as it is stored. After a change that is meant, write it anew with
//!
//! ```text
//! DCM_REGENERATE_DATA_MODEL=1 cargo test -p dcm-server --test it data_model::
//! ```
//!
//! and read the difference: it is what installations have in their stores.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod page;
mod play;
mod samples;
mod steady;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use dcm_core::port::audit::Action;
use dcm_server::rooms;
use serde_json::Value;

use crate::common::kept::{Kept, Written, during};
use crate::data_model::play::NOBODY;
use crate::data_model::samples::Seen;

/// Set to anything, the page is written anew instead of compared.
const REGENERATE: &str = "DCM_REGENERATE_DATA_MODEL";

/// Rooms whose documents have several forms, each of which has a sample.
const FORMS: [(&str, &[&str]); 5] = [
    ("audit", &["asked", "ended"]),
    ("credentials", &["certificate", samples::KEY_OF_THE_USER, "retired", "token"]),
    ("logical-clouds", &["deleting", "reserved", "standing"]),
    (
        "parts",
        &[
            "cloud",
            "contents",
            "key-values",
            "manifests",
            "namespace",
            "permissions",
            "quotas",
            "references",
            "service-mesh",
            "users",
        ],
    ),
    ("results", &["certificate", "token"]),
];

/// What is decided by nobody but an engine, on occasions that the play has not.
const NOT_PLAYED: [&str; 3] = ["abandon", "give-up-contest", "take-over"];

/// Each kind of decision that was written down.
fn actions(kept: &Kept) -> BTreeSet<String> {
    let of_audit = |written: &Written| written.path.as_str().starts_with("audit/");
    let written = kept.written().into_iter().filter(of_audit);
    let actions = written.filter_map(|written| {
        written.document.read::<Value>().unwrap()["action"].as_str().map(str::to_owned)
    });
    actions.collect()
}

fn forms(room: &str) -> &'static [&'static str] {
    FORMS.iter().find(|(name, _)| *name == room).map_or(&[""], |(_, forms)| forms)
}

#[tokio::test(start_paused = true)]
async fn the_page_of_the_data_model_shows_a_sample_of_every_stored_document() {
    let rooms = rooms();
    let kept = during(NOBODY, play::play()).await;
    let seen: BTreeMap<&str, Seen> = samples::seen(&kept, &rooms).await;
    for room in &rooms {
        let found = seen.get(room.name).unwrap_or_else(|| panic!("nothing was written to {}", room.name));
        assert!(found.samples.keys().eq(forms(room.name)), "{}: {:?}", room.name, found.samples.keys());
    }
    let played = actions(&kept);
    let all = Action::ALL.map(|action| serde_json::to_value(action).unwrap().as_str().unwrap().to_owned());
    let not_played: Vec<String> = all.into_iter().filter(|action| !played.contains(action)).collect();
    assert_eq!(not_played, NOT_PLAYED);
    let text = page::page(&rooms, &seen);
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/data-model.md");
    if std::env::var_os(REGENERATE).is_some() {
        std::fs::write(&file, &text).unwrap();
        return;
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    let mut lines = written.lines().zip(text.lines()).enumerate();
    let first = lines.find(|(_, (written, found))| written != found);
    assert!(written == text, "{}: {first:?}\nset {REGENERATE}=1 when the change is meant", file.display());
}
