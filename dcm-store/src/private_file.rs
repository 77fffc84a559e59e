//! Files for their owner only.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The rights of group and others.
pub(crate) const OTHERS: u32 = 0o077;

/// Why a file could not be made.
#[derive(Debug)]
pub(crate) enum Failed<E> {
    /// Making the file itself.
    File(io::Error),
    /// Filling it.
    Filling(E),
}

/// Makes a file that appears whole, durably and with mode 0600 under its name, or not at all. `fill` gets its path
/// before that. False when there is one by that name meanwhile: that one stays.
pub(crate) fn create<E>(file: &Path, fill: impl FnOnce(&Path) -> Result<(), E>) -> Result<bool, Failed<E>> {
    let folder = folder_of(file);
    // Closed before it gets its name: to close a file takes the process's locks from it, also those of SQLite.
    let new = tempfile::NamedTempFile::new_in(folder).map_err(Failed::File)?.into_temp_path();
    fill(&new).map_err(Failed::Filling)?;
    match new.persist_noclobber(file) {
        Ok(()) => {}
        Err(failure) if failure.error.kind() == ErrorKind::AlreadyExists => return Ok(false),
        Err(failure) => return Err(Failed::File(failure.error)),
    }
    // The name must outlive a power failure as the content does.
    fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(Failed::File)?;
    Ok(true)
}

/// Makes an empty file, unless there is one by that name.
#[cfg(feature = "encrypted")]
pub(crate) fn reserve(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;

    fs::File::options().write(true).create_new(true).mode(0o600).open(file).map(drop)
}

/// Puts a file, which is on the disk, in the place of another one.
#[cfg(feature = "encrypted")]
pub(crate) fn replace(file: &Path, new: &Path) -> io::Result<()> {
    fs::rename(new, file)?;
    fs::File::open(folder_of(file))?.sync_all()
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Takes the rights of group and others from a file, if it is there.
#[cfg(feature = "sqlite")]
pub(crate) fn restrict(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    // By name and never by opening it, for the reason above.
    let mode = match fs::metadata(file) {
        Ok(metadata) => metadata.permissions().mode(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if mode & OTHERS == 0 {
        Ok(())
    } else {
        fs::set_permissions(file, PermissionsExt::from_mode(mode & !OTHERS))
    }
}
