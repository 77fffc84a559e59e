//! Files that hold keys or documents: for their owner only, and never half written.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

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
    replace(file, text, |_| Ok(()))
}

/// The same with the owner, the group and the mode of the file that is there: others read it.
pub(crate) fn write_as_it_is(file: &Path, text: &Secret) -> anyhow::Result<()> {
    replace(file, text, |new| {
        let Ok(old) = fs::metadata(file) else { return Ok(()) };
        let made = new.metadata()?;
        if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
            std::os::unix::fs::fchown(new, Some(old.uid()), Some(old.gid()))?;
        }
        new.set_permissions(old.permissions())
    })
}

fn replace(
    file: &Path,
    text: &Secret,
    adjust: impl FnOnce(&fs::File) -> io::Result<()>,
) -> anyhow::Result<()> {
    let target = fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    let folder = folder_of(&target);
    let failed = || format!("{} can't be written", file.display());
    fs::create_dir_all(folder).with_context(failed)?;
    // Its mode is 0600 from the start.
    let mut new = NamedTempFile::new_in(folder).with_context(failed)?;
    new.write_all(text.expose().as_bytes()).with_context(failed)?;
    adjust(new.as_file()).with_context(failed)?;
    new.as_file().sync_all().with_context(failed)?;
    new.persist(&target).map_err(|error| error.error).with_context(failed)?;
    Ok(())
}

/// Begins a file that has no name of its own yet, with mode 0600. It goes when it is dropped.
///
/// # Errors
/// Of the folder; also when there is one by that name already.
pub(crate) fn begin(file: &Path) -> io::Result<NamedTempFile> {
    match file.symlink_metadata() {
        Ok(_) => Err(ErrorKind::AlreadyExists.into()),
        Err(_) => NamedTempFile::new_in(folder_of(file)),
    }
}

/// Gives a file its name once its content is on the disk.
///
/// # Errors
/// Of the disk; also when there is one by that name meanwhile, which stays.
pub(crate) fn finish(new: NamedTempFile, file: &Path) -> io::Result<()> {
    new.as_file().sync_all()?;
    new.persist_noclobber(file).map_err(|failure| failure.error)?;
    fs::File::open(folder_of(file))?.sync_all()
}

/// The folder that a file is in.
pub(crate) fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
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
    fn a_new_file_appears_whole_and_in_nobodys_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new");
        let names = || fs::read_dir(&folder).unwrap().count();
        drop(begin(&file).unwrap());
        assert_eq!(names(), 0);
        let (mut new, late) = (begin(&file).unwrap(), begin(&file).unwrap());
        new.write_all(b"one").unwrap();
        assert!(!file.exists());
        finish(new, &file).unwrap();
        assert_eq!(finish(late, &file).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(begin(&file).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!((fs::read_to_string(&file).unwrap().as_str(), names()), ("one", 1));
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
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
