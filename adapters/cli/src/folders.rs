//! Where the command keeps things when it isn't told: its user's data and configuration folders.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use etcetera::BaseStrategy as _;

/// The name of our folders.
const OURS: &str = "dcm";

/// Only for its owner: it holds what is known of clusters, or keys.
const FOLDER_MODE: u32 = 0o700;

/// The file of the store, in the data folder.
const STORE_FILE: &str = "store.db";

/// The file of the keys, in the configuration folder: not beside the store, so that a copy of that is worth nothing.
const KEY_FILE: &str = "keys.json";

/// The file of the servers that the user knows.
const CONTEXTS_FILE: &str = "contexts.yaml";

/// The URL of the store in the user's data folder, which is made when it is missing.
pub(crate) fn store_url() -> anyhow::Result<String> {
    let folder = base()?.data_dir().join(OURS);
    make(&folder)?;
    let file = folder.join(STORE_FILE);
    let file = file.to_str().with_context(|| format!("{} is no UTF-8 path; say --store", file.display()))?;
    Ok(format!("sqlite:{file}"))
}

/// The file of the keys in the user's configuration folder, which is made when it is missing.
pub(crate) fn key_file() -> anyhow::Result<PathBuf> {
    let folder = base()?.config_dir().join(OURS);
    make(&folder)?;
    Ok(folder.join(KEY_FILE))
}

/// Makes the user's configuration folder when it is missing.
pub(crate) fn make_configuration() -> anyhow::Result<()> {
    make(&base()?.config_dir().join(OURS))
}

/// The file of the servers that the user knows, in the configuration folder.
pub(crate) fn contexts_file() -> anyhow::Result<PathBuf> {
    Ok(base()?.config_dir().join(OURS).join(CONTEXTS_FILE))
}

fn base() -> anyhow::Result<impl etcetera::BaseStrategy> {
    etcetera::choose_base_strategy().context("the user has no home folder; say --store and --key-file")
}

fn make(folder: &Path) -> anyhow::Result<()> {
    let mut builder = DirBuilder::new();
    let made = builder.recursive(true).mode(FOLDER_MODE).create(folder);
    made.with_context(|| format!("the folder {} can't be made", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_folder_is_made_for_its_owner_only() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("a/dcm");
        make(&folder).unwrap();
        make(&folder).unwrap();
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, FOLDER_MODE);
    }
}
