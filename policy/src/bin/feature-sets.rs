//! Prints each way in which a crate of the workspace has to build alone: a line of arguments for cargo each.

use dcm_policy::{FeatureSet, Workspace};

#[expect(clippy::print_stdout, reason = "its output is what it is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let workspace = Workspace::load()?;
    for set in workspace.members().into_iter().flat_map(FeatureSet::all_of) {
        println!("{set}");
    }
    Ok(())
}
