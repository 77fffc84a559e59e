//! `dcm store export`: all documents as lines.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context as _;
use dcm_server::open_sealed;
use dcm_store::transfer::export;
use futures::TryStreamExt as _;

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::session::store_of;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Writes to a new file, for its owner alone. Default: standard output.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let store = open_sealed(&store_of(global)?).await?;
    let (mut out, name) = match &arguments.file {
        Some(file) => (new_file(file)?, file.display().to_string()),
        None => (Box::new(io::stdout()) as Box<dyn Write + Send>, "standard output".to_owned()),
    };
    let unwritten = || format!("{name} can't be written");
    let mut lines = Box::pin(export(&*store));
    let mut documents = 0;
    while let Some(text) = lines.try_next().await? {
        documents += text.lines().count();
        out.write_all(text.as_bytes()).with_context(unwritten)?;
    }
    out.flush().with_context(unwritten)?;
    // The first line and the last one are none.
    output::note(format_args!("{} documents exported", documents.saturating_sub(2)));
    Ok(Exit::Done)
}

fn new_file(file: &PathBuf) -> anyhow::Result<Box<dyn Write + Send>> {
    use std::os::unix::fs::OpenOptionsExt as _;

    let made = File::options().write(true).create_new(true).mode(0o600).open(file);
    Ok(Box::new(made.with_context(|| format!("{} can't be made", file.display()))?))
}
