//! `dcm store new-keys`: a file of keys, before there is a store.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use dcm_store::encrypted::KeyFile;

use crate::exit::Exit;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// New file, created with mode 0600.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(crate) fn run(Arguments { file }: &Arguments) -> anyhow::Result<Exit> {
    ensure!(file.symlink_metadata().is_err(), "{} is there already", file.display());
    KeyFile::open_or_create(file).with_context(|| format!("{} can't be made", file.display()))?;
    Ok(Exit::Done)
}
