//! How each server is started: its files and its arguments.

pub(crate) mod api_server;
pub(crate) mod controller_manager;
pub(crate) mod etcd;
pub(crate) mod ferretdb;

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

/// The files with which a server proves who it is, and tells who its clients are.
#[derive(Debug)]
pub(crate) struct TlsFiles {
    pub(crate) authority: PathBuf,
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// Writes one file of an environment.
pub(crate) fn write(folder: &Path, name: &str, content: &str) -> Result<PathBuf, Error> {
    let path = folder.join(name);
    match fs::write(&path, content) {
        Ok(()) => Ok(path),
        Err(source) => Err(Error::Write { path, source }),
    }
}

/// Makes a folder of an environment.
pub(crate) fn make_folder(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// `--name=value`, for a file.
fn file_flag(name: &str, file: &Path) -> String {
    format!("--{name}={}", file.display())
}
