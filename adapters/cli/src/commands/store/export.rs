//! `dcm store export`: all documents as lines.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use dcm_core::port::store::Store;
use dcm_server::open_sealed_existing;
use dcm_store::transfer::export;
use futures::TryStreamExt as _;
use serde_json::json;

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::private_file;
use crate::session::store_of;
use crate::work::interrupted;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Writes a new file with mode 0600, which appears when it is complete. Default: standard output.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let store = open_sealed_existing(store_of(global)?.as_str()).await?;
    let said = |documents| format!("{documents} documents exported");
    match &arguments.file {
        Some(file) => match write_file(&*store, file).await? {
            Some(documents) => {
                let people = || said(documents) + "\n";
                output::print_either(global.output, &json!({"documents": documents}), people)?;
            }
            None => return Ok(Exit::Interrupted),
        },
        None => output::note(said(write(&*store, &mut io::stdout(), "standard output").await?)),
    }
    if global.contexts_store.is_some() {
        output::note("app contexts have a store of their own, which is exported by naming it as --store");
    }
    Ok(Exit::Done)
}

/// Writes a new file, and says how many documents are in it; none when it was interrupted, which leaves no file.
async fn write_file(store: &dyn Store, file: &Path) -> anyhow::Result<Option<usize>> {
    let interrupted = interrupted();
    let unmade = || format!("{} can't be made", file.display());
    let mut new = private_file::begin(file).with_context(unmade)?;
    let name = file.display().to_string();
    let documents = tokio::select! {
        written = write(store, &mut new, &name) => written?,
        signal = interrupted => return signal.map(|()| None),
    };
    private_file::finish(new, file).with_context(unmade)?;
    Ok(Some(documents))
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
