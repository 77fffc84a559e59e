//! `dcm plan`: what an apply would do. Changes nothing.

mod live;
mod offline;
mod shown;

use std::path::PathBuf;

pub(crate) use live::require;

use super::documents;
use crate::arguments::Global;
use crate::exit::Exit;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// File of documents, in YAML or JSON; - is standard input. May be repeated.
    #[arg(short, long = "file", required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Renders the documents without a request to a cluster or a store.
    #[arg(long)]
    offline: bool,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let documents = documents::read(&arguments.files, &global.project)?;
    if arguments.offline { offline::run(global, &documents) } else { live::run(global, documents).await }
}
