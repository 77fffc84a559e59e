//! Prints each way in which a crate of the workspace must build alone: a line of arguments for cargo each.
//!
//! Without arguments these are all crates; otherwise the arguments are names of packages, and these and the crates that depend on them are
//! printed.

use std::collections::BTreeSet;

use dcm_policy::{FeatureSet, Workspace};

#[expect(clippy::print_stdout, reason = "its output is what it is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let workspace = Workspace::load()?;
    let named: BTreeSet<String> = std::env::args().skip(1).collect();
    let wanted = if named.is_empty() { None } else { Some(workspace.with_dependants(named)?) };
    let is_wanted = |name: &str| wanted.as_ref().is_none_or(|wanted| wanted.contains(name));
    let members = workspace.members().into_iter().filter(|member| is_wanted(&member.name));
    for set in members.flat_map(FeatureSet::all_of) {
        println!("{set}");
    }
    Ok(())
}
