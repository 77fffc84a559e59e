//! The words of the page are those of the product.

use std::collections::BTreeSet;

use dcm_core::status::{LaneState, ObjectState, Reason, RequestState};
use dcm_rest::ui::ASSETS;
use regex::Regex;
use serde::de::DeserializeOwned;

fn text(name: &str) -> &'static str {
    ASSETS.iter().find(|asset| asset.name == name).unwrap().text
}

/// The names in a set that a module declares.
fn set(module: &str, name: &str) -> BTreeSet<String> {
    let declared = Regex::new(&format!(r"const {name} = new Set\(\[([^\]]*)\]\)")).unwrap();
    let names = declared.captures(text(module)).unwrap()[1].to_owned();
    Regex::new("'([^']+)'").unwrap().captures_iter(&names).map(|found| found[1].to_owned()).collect()
}

fn read<T: DeserializeOwned>(name: &str) -> T {
    serde_json::from_value(name.into()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// All kinds of causes. A new one does not compile here until it has its place in the page, too.
fn count_of_reasons(reason: Reason) -> usize {
    match reason {
        Reason::Waiting
        | Reason::Retrying
        | Reason::Unreachable
        | Reason::Unauthorized
        | Reason::Denied
        | Reason::Invalid
        | Reason::UnknownKind
        | Reason::Foreign
        | Reason::FieldConflict
        | Reason::Drifted
        | Reason::Tampered
        | Reason::NamespaceGone
        | Reason::ClusterChanged
        | Reason::SameCluster
        | Reason::StoreBehind
        | Reason::PlanStale
        | Reason::SignerSilent
        | Reason::Lapsed
        | Reason::NotAccepted
        | Reason::LeftAlone
        | Reason::HasContents
        | Reason::Paused => 22,
    }
}

#[test]
fn the_page_knows_at_which_causes_somebody_has_to_change_something() {
    let (somebody, passes) = (set("words.mjs", "NEEDS_SOMEBODY"), set("words.mjs", "PASSES"));
    assert!(somebody.iter().all(|name| read::<Reason>(name).needs_somebody()), "{somebody:?}");
    assert!(passes.iter().all(|name| !read::<Reason>(name).needs_somebody()), "{passes:?}");
    assert_eq!(somebody.len() + passes.len(), count_of_reasons(Reason::Waiting));
}

#[test]
fn states_that_the_page_marks_are_states() {
    let marked = Regex::new(r"const TONES = \{([^}]*)\}").unwrap();
    let marked = marked.captures(text("board.mjs")).unwrap()[1].to_owned();
    for found in Regex::new(r"(\w+): '").unwrap().captures_iter(&marked) {
        match &found[1] {
            "issued" => drop(read::<RequestState>("issued")),
            name => drop(read::<ObjectState>(name)),
        }
    }
    for state in ["done", "removed", "abandoned"] {
        assert!(text("board.mjs").contains(&format!("lane.state === '{state}'")));
        assert!(LaneState::ALL.iter().any(|known| known.as_str() == state));
    }
}
