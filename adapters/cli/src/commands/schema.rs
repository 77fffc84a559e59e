//! `dcm schema`: the JSON Schema of documents.

use dcm_core::document;

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output::{self, Notation};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(global: &Global, _: &Arguments) -> anyhow::Result<Exit> {
    let notation = global.output.for_programs().unwrap_or(Notation::Json);
    output::print(&notation.write(&document::json_schema())?)?;
    Ok(Exit::Done)
}
