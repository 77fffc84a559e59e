//! `dcm store export`: all documents as lines.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context as _;
use dcm_core::port::store::Store;
use dcm_server::open_sealed;
use dcm_store::transfer::export;
use futures::TryStreamExt as _;

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::private_file;
use crate::session::store_of;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Writes to a new file, for its owner alone, which appears when it is whole. Default: standard output.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let store = open_sealed(&store_of(global)?).await?;
    let documents = match &arguments.file {
        Some(file) => {
            let name = file.display();
            let mut new = private_file::begin(file).with_context(|| format!("{name} can't be made"))?;
            let documents = write(&*store, &mut new, &name.to_string()).await?;
            private_file::finish(new, file).with_context(|| format!("{name} can't be made"))?;
            documents
        }
        None => write(&*store, &mut io::stdout(), "standard output").await?,
    };
    output::note(format_args!("{documents} documents exported"));
    Ok(Exit::Done)
}

/// Writes all lines, and says how many documents are in them.
async fn write(store: &dyn Store, out: &mut (impl Write + Send), name: &str) -> anyhow::Result<usize> {
    let unwritten = || format!("{name} can't be written");
    let mut exported = Box::pin(export(store));
    let mut lines = 0;
    while let Some(text) = exported.try_next().await? {
        lines += text.lines().count();
        out.write_all(text.as_bytes()).with_context(unwritten)?;
    }
    out.flush().with_context(unwritten)?;
    // The first line and the last one are none.
    Ok(lines.saturating_sub(2))
}
