//! `dcm schema`: the JSON Schema of documents.

use dcm_core::{document, shape};
use dcm_server::Settings;

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output::{self, Notation};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Kind of the schema.
    #[arg(long, value_enum, default_value_t, value_name = "KIND")]
    of: Kind,
}

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum Kind {
    /// Documents of logical clouds.
    #[default]
    Documents,
    /// Settings of `dcm serve`.
    Settings,
}

pub(crate) fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let notation = global.output.for_programs().unwrap_or(Notation::Json);
    let schema = match arguments.of {
        Kind::Documents => document::json_schema().clone(),
        Kind::Settings => shape::schema_of::<Settings>(),
    };
    output::print(&notation.write(&schema)?)?;
    Ok(Exit::Done)
}
