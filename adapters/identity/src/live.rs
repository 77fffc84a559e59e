//! Files that are read again while they are used.
//!
//! They are read, not only looked at: a file that is written twice within one tick of the file system's clock has the time
//! stamp of the first. So small files only.

use std::error::Error;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use dcm_core::causes;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

/// Files are read again at most this often, and only when they are used.
pub(crate) const RECHECK_INTERVAL: SignedDuration = SignedDuration::from_secs(1);

/// Largest file that is read, in bytes: thousands of tokens, hundreds of certificates. Reading it blocks its thread.
pub(crate) const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// What is made of files.
pub(crate) trait Source: Send + Sync + 'static {
    /// What is made of them.
    type Made: Send + Sync + 'static;
    /// Why that failed.
    type Error: Error + 'static;

    /// What it is, for the log.
    fn what(&self) -> String;

    /// Reads all files, and checks who may do so.
    fn read(&self) -> Result<Vec<Vec<u8>>, Self::Error>;

    /// Makes it of what was read.
    fn make(&self, contents: &[Vec<u8>]) -> Result<Self::Made, Self::Error>;
}

/// What is made of files, and made again when they change. Broken files leave what was there before.
pub(crate) struct Live<S: Source> {
    source: S,
    state: Mutex<State<S::Made>>,
}

struct State<T> {
    made: Arc<T>,
    digest: [u8; 32],
    /// When the files were last read.
    checked: Timestamp,
    /// When they were last read and could be used.
    whole: Timestamp,
    /// Why they can't be used now, if so.
    reason: Option<String>,
}

/// What there is now.
pub(crate) struct Current<T> {
    /// What was last made.
    pub(crate) made: Arc<T>,
    /// If the files can't be used: when they last could.
    pub(crate) last_whole: Option<Timestamp>,
}

impl<S: Source> Live<S> {
    /// Reads the files for the first time.
    pub(crate) fn open(source: S, now: Timestamp) -> Result<Self, S::Error> {
        let contents = source.read()?;
        let made = Arc::new(source.make(&contents)?);
        let state = State { made, digest: digest(&contents), checked: now, whole: now, reason: None };
        Ok(Self { source, state: Mutex::new(state) })
    }

    /// Where it is from.
    pub(crate) fn source(&self) -> &S {
        &self.source
    }

    /// What there is now. Reads the files again when it is time to; whoever asks meanwhile waits, so that nobody gets what is
    /// older than the interval.
    pub(crate) fn current(&self, now: Timestamp) -> Current<S::Made> {
        // Nothing panics while it is held, and no state in between is ever left.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if now.duration_since(state.checked) >= RECHECK_INTERVAL {
            self.check(&mut state, now);
        }
        let last_whole = state.reason.is_some().then_some(state.whole);
        Current { made: Arc::clone(&state.made), last_whole }
    }

    fn check(&self, state: &mut State<S::Made>, now: Timestamp) {
        state.checked = now;
        let what = self.source.what();
        match self.remake(state) {
            Ok(()) => {
                state.whole = now;
                if state.reason.take().is_some() {
                    tracing::info!("{what} can be used again");
                }
            }
            Err(error) => {
                let reason = causes::told(&error);
                // Once for each thing that is wrong, not once a second.
                if state.reason.as_ref() != Some(&reason) {
                    tracing::error!(reason, "{what} can't be used: what was read before is kept");
                }
                state.reason = Some(reason);
            }
        }
    }

    /// Makes what the files say now, unless it is what they said before.
    fn remake(&self, state: &mut State<S::Made>) -> Result<(), S::Error> {
        let contents = self.source.read()?;
        let digest = digest(&contents);
        if state.digest != digest {
            state.made = Arc::new(self.source.make(&contents)?);
            state.digest = digest;
            tracing::info!("{} changed, and were read again", self.source.what());
        }
        Ok(())
    }
}

fn digest(contents: &[Vec<u8>]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for content in contents {
        hasher.update(content.len().to_le_bytes());
        hasher.update(content);
    }
    hasher.finalize().into()
}

/// Reads a small file; `check` sees what the open file is, so that it can't be another one by then.
pub(crate) fn read_file<E>(
    path: &Path,
    check: impl FnOnce(&Metadata) -> Result<(), E>,
    failed: impl Fn(io::Error) -> E,
) -> Result<Vec<u8>, E> {
    let file = File::open(path).map_err(&failed)?;
    let metadata = file.metadata().map_err(&failed)?;
    check(&metadata)?;
    if metadata.is_dir() {
        return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(&failed)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > FILE_BYTES_MAX) {
        let text = format!("it has more than {FILE_BYTES_MAX} bytes");
        return Err(failed(io::Error::new(io::ErrorKind::FileTooLarge, text)));
    }
    Ok(bytes)
}

/// True for a file that its group or others may write.
#[cfg(unix)]
pub(crate) fn is_writable_beyond_its_owner(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o022 != 0
}

/// Elsewhere files have other rights than this.
#[cfg(not(unix))]
pub(crate) fn is_writable_beyond_its_owner(_: &Metadata) -> bool {
    false
}

/// What others than the owner and the group may do with a file: the last of its three octal digits.
#[cfg(unix)]
pub(crate) fn rights_of_others(metadata: &Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o7
}

/// Elsewhere files have other rights than this, and nobody can be told which.
#[cfg(not(unix))]
pub(crate) fn rights_of_others(_: &Metadata) -> u32 {
    0
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    struct Number(PathBuf);

    impl Source for Number {
        type Made = u32;
        type Error = io::Error;

        fn what(&self) -> String {
            "numbers".to_owned()
        }

        fn read(&self) -> Result<Vec<Vec<u8>>, io::Error> {
            Ok(vec![read_file(&self.0, |_| Ok(()), |error| error)?])
        }

        fn make(&self, contents: &[Vec<u8>]) -> Result<u32, io::Error> {
            let text = String::from_utf8_lossy(&contents[0]);
            text.parse().map_err(io::Error::other)
        }
    }

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(milliseconds).unwrap()
    }

    #[test]
    fn a_changed_file_is_read_again_after_the_interval_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("number");
        fs::write(&file, "1").unwrap();
        let live = Live::open(Number(file.clone()), at(0)).unwrap();
        fs::write(&file, "2").unwrap();
        assert_eq!(*live.current(at(999)).made, 1);
        assert_eq!(*live.current(at(1000)).made, 2);
    }

    #[test]
    fn a_broken_file_leaves_what_was_there_and_tells_when_it_was_last_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("number");
        fs::write(&file, "1").unwrap();
        let live = Live::open(Number(file.clone()), at(0)).unwrap();
        let look = |milliseconds| {
            let current = live.current(at(milliseconds));
            (*current.made, current.last_whole)
        };
        fs::write(&file, "x").unwrap();
        assert_eq!(look(5000), (1, Some(at(0))));
        fs::remove_file(&file).unwrap();
        assert_eq!(look(7000), (1, Some(at(0))));
        // The very same text again: it was never away for those who use it.
        fs::write(&file, "1").unwrap();
        assert_eq!(look(8000), (1, None));
    }

    #[test]
    fn a_large_file_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("number");
        fs::write(&file, vec![b'1'; usize::try_from(FILE_BYTES_MAX).unwrap() + 1]).unwrap();
        let error = Live::open(Number(file), at(0)).err().unwrap();
        assert_eq!(error.to_string(), "it has more than 1048576 bytes");
        assert!(Live::open(Number(folder.path().to_owned()), at(0)).is_err());
    }
}
