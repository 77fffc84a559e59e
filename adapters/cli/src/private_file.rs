//! Files that hold keys: for their owner only, and never half written.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use dcm_core::secret::Secret;
use tempfile::NamedTempFile;

/// Reads a text; none when there is no such file.
pub(crate) fn read(file: &Path) -> anyhow::Result<Option<Secret>> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(Secret::new(text))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{} can't be read", file.display())),
    }
}

/// Writes a text with mode 0600, in the place of what is there: a new file is renamed over it, so that nobody ever
/// reads a part. Where the name is a link, what it leads to is replaced.
pub(crate) fn write(file: &Path, text: &Secret) -> anyhow::Result<()> {
    let target = fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    let folder = target
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    let failed = || format!("{} can't be written", file.display());
    fs::create_dir_all(&folder).with_context(failed)?;
    // Its mode is 0600 from the start.
    let mut new = NamedTempFile::new_in(&folder).with_context(failed)?;
    new.write_all(text.expose().as_bytes()).with_context(failed)?;
    new.as_file().sync_all().with_context(failed)?;
    new.persist(&target).map_err(|error| error.error).with_context(failed)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn a_written_file_is_for_its_owner_only_and_replaces_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("below/config");
        assert!(read(&file).unwrap().is_none());
        write(&file, &Secret::new("one")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        write(&file, &Secret::new("two")).unwrap();
        assert_eq!(read(&file).unwrap(), Some(Secret::new("two")));
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        symlink(&file, &link).unwrap();
        write(&link, &Secret::new("new")).unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }
}
