//! The table of the documentation, made of the cases:
//!
//! ```sh
//! DCM_REGENERATE_KUBECONFIGS=1 cargo test -p dcm-cli --all-features --test it kubeconfigs::
//! ```

use std::path::PathBuf;

use super::kit::Case;

const REGENERATE: &str = "DCM_REGENERATE_KUBECONFIGS";

/// What is before the table.
const START: &str =
    "| Field | What it has | kubectl | dcm | server | Why they differ |\n|---|---|---|---|---|---|\n";

fn row(Case { field, has, works, why, .. }: &Case) -> String {
    let [kubectl, command, server] = works.map(|works| if works { "works" } else { "refused" });
    format!("| {field} | {has} | {kubectl} | {command} | {server} | {why} |\n")
}

/// The page has these cases, and no others.
pub(super) fn compare(cases: &[Case]) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/kubeconfigs.md");
    let written = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = written.split_once(START).expect("the page has no table");
    let table: usize = rest.lines().take_while(|line| line.starts_with('|')).map(|line| line.len() + 1).sum();
    let rows: String = cases.iter().map(row).collect();
    let text = format!("{before}{START}{rows}{}", &rest[table..]);
    if std::env::var_os(REGENERATE).is_some() {
        std::fs::write(&file, &text).unwrap();
        return;
    }
    let mut lines = written.lines().zip(text.lines()).enumerate();
    let first = lines.find(|(_, (written, found))| written != found);
    assert!(written == text, "{}: {first:?}\nset {REGENERATE}=1 when the change is meant", file.display());
}
