//! Files of the user that other programs write, too: locked, and written in their place, as kubectl does it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use dcm_core::secret::Secret;
use rustix::process::Signal;
use tempfile::NamedTempFile;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::{Ended, Exit};
use crate::private_file::folder_of;

/// How often a lock that is held is tried again, and how long it takes from one try to the next: some ten seconds in all. Who holds one
/// writes a few small files.
const LOCK_TRIES: u32 = 400;
const LOCK_PAUSE: Duration = Duration::from_millis(25);

/// A lock of a file: another one, which is there as long as it is held.
#[derive(Debug)]
pub(crate) struct Lock(PathBuf);

impl Lock {
    /// Takes the lock of a file, once its holder has released it.
    pub(crate) async fn take(file: &Path) -> anyhow::Result<Self> {
        let mut name = file.as_os_str().to_owned();
        name.push(".lock");
        let lock = PathBuf::from(name);
        let failed = || format!("{} can't be locked", file.display());
        DirBuilder::new().recursive(true).mode(0o755).create(folder_of(file)).with_context(failed)?;
        for _ in 0..LOCK_TRIES {
            match OpenOptions::new().write(true).create_new(true).mode(0o000).open(&lock) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    tokio::time::sleep(LOCK_PAUSE).await;
                }
                opened => return opened.with_context(failed).map(|_| Self(lock)),
            }
        }
        let (file, lock) = (file.display(), lock.display());
        let message = format!(
            "{file} was not changed: it is locked by {lock}; if no program is writing it, delete {lock}"
        );
        Err(Ended::new(Exit::Stuck, message).into())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Where this fails, the next program that waits for the lock names it.
        let _ = fs::remove_file(&self.0);
    }
}

/// From now on, a write beyond the largest size of files fails, and does not end the process.
pub(crate) fn let_large_writes_fail() -> anyhow::Result<()> {
    Ok(signal(SignalKind::from_raw(Signal::XFSZ.as_raw())).map(drop)?)
}

/// Replaces the content of a file in place; only the owner can read a new file. If the folder can be written to, the text is written beside
/// the file first, which shows whether the disk has room for it. After a failed write, the file gets its earlier content again.
pub(crate) fn write(file: &Path, text: &Secret, before: Option<&[u8]>) -> anyhow::Result<()> {
    let failed = || format!("{} can't be written, and was not changed", file.display());
    let target = fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    match has_room(folder_of(&target), text) {
        Err(error) if is_full(&error) => return Err(error).with_context(failed),
        _ => {}
    }
    let mut opened = open(file).with_context(failed)?;
    if let Err(error) = overwrite(&mut opened, text.expose().as_bytes()) {
        drop(opened);
        put_back(file, before)?;
        return Err(error).with_context(failed);
    }
    Ok(())
}

/// Gives a file again what it had before; one that was not there goes.
pub(crate) fn put_back(file: &Path, before: Option<&[u8]>) -> anyhow::Result<()> {
    let done = match before {
        Some(bytes) => open(file).and_then(|mut opened| overwrite(&mut opened, bytes)),
        None => fs::remove_file(fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf())),
    };
    done.with_context(|| format!("{} was written in part, and could not be put back", file.display()))
}

/// Fails where a folder has no room for a file with this text.
fn has_room(folder: &Path, text: &Secret) -> io::Result<()> {
    let mut trial = NamedTempFile::new_in(folder)?;
    trial.write_all(text.expose().as_bytes())?;
    trial.as_file().sync_all()
}

/// Opens a file to write over it, and keeps what it has until then.
fn open(file: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(file)
}

/// The length comes last: until then nothing of the disk is given up that the old content would need again.
fn overwrite(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.rewind()?;
    file.write_all(bytes)?;
    file.set_len(u64::try_from(bytes.len()).unwrap_or(u64::MAX))?;
    file.sync_all()
}

/// Whether others than its owner have any right to a file. A file that can't be looked at has none.
pub(crate) fn is_open_to_others(file: &Path) -> bool {
    file.metadata().is_ok_and(|file| file.mode() & 0o077 != 0)
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

/// One spelling of a path: its folder without links, and its name.
pub(crate) fn spelled(file: &Path) -> PathBuf {
    let folder = fs::canonicalize(folder_of(file)).unwrap_or_else(|_| folder_of(file).to_path_buf());
    folder.join(file.file_name().unwrap_or_default())
}

/// What two names of one file have in common: its device and its inode, or its spelling where there is none yet.
pub(crate) fn identity(file: &Path) -> Result<(u64, u64), PathBuf> {
    file.metadata().map(|file| (file.dev(), file.ino())).map_err(|_| {
        let target = fs::read_link(file).map(|target| folder_of(file).join(target));
        spelled(&target.unwrap_or_else(|_| file.to_path_buf()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn a_file_keeps_its_inode_its_mode_and_its_links() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, other] = ["real", "link", "other"].map(|name| folder.path().join(name));
        fs::write(&file, "a long old text").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        fs::hard_link(&file, &other).unwrap();
        let before = file.metadata().unwrap();
        write(&link, &Secret::new("new"), Some(b"a long old text")).unwrap();
        let after = file.metadata().unwrap();
        assert_eq!((after.ino(), after.mode(), after.nlink()), (before.ino(), before.mode(), 2));
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&other).unwrap(), "new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
    }

    #[test]
    fn a_new_file_is_for_its_owner_only_also_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["real", "link"].map(|name| folder.path().join(name));
        symlink(&file, &link).unwrap();
        write(&link, &Secret::new("new"), None).unwrap();
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
        put_back(&link, None).unwrap();
        assert!(!file.exists() && link.symlink_metadata().is_ok());
    }

    #[test]
    fn what_can_not_be_written_leaves_the_file_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let is_a_folder = folder.path().join("folder");
        fs::create_dir(&is_a_folder).unwrap();
        assert!(write(&is_a_folder, &Secret::new("new"), None).is_err());
        assert!(write(&folder.path().join("absent/file"), &Secret::new("new"), None).is_err());
        let file = folder.path().join("file");
        fs::write(&file, "half of the new te").unwrap();
        put_back(&file, Some(b"old")).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lock_is_waited_for_and_one_that_stays_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("below/config");
        let held = Lock::take(&file).await.unwrap();
        let path = folder.path().join("below/config.lock");
        assert_eq!((path.metadata().unwrap().mode() & 0o777, path.metadata().unwrap().len()), (0, 0));
        let (second, ()) = tokio::join!(Lock::take(&file), async {
            tokio::time::sleep(LOCK_PAUSE * 3).await;
            drop(held);
        });
        let _second = second.unwrap();
        let refused = Lock::take(&file).await.unwrap_err().to_string();
        assert!(refused.contains(path.to_str().unwrap()) && refused.contains("is locked by"), "{refused}");
        assert!(path.exists());
    }
}
