//! `dcm cluster role`: the least rights, to prepare a cluster with.

use dcm_core::preflight;

use super::check::Wanted;
use crate::arguments::Global;
use crate::exit::Exit;
use crate::output::{self, Notation};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    wanted: Wanted,
    /// The name of the ClusterRole.
    #[arg(long, default_value = "dcm", value_name = "NAME")]
    name: String,
}

pub(crate) fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let needs = arguments.wanted.purpose(global)?.needs();
    let role = preflight::cluster_role(&arguments.name, preflight::rules(needs.accesses()));
    let notation = global.output.for_programs().unwrap_or(Notation::Yaml);
    output::print(&notation.write(&role)?)?;
    Ok(Exit::Done)
}
