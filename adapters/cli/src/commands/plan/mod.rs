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
    /// A file of documents, YAML or JSON; - for standard input. May be repeated.
    #[arg(short, long = "file", required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only renders: asks no cluster and opens no store.
    #[arg(long)]
    offline: bool,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let documents = documents::read(&arguments.files, &global.project)?;
    if arguments.offline { offline::run(global, &documents) } else { live::run(global, documents).await }
}
