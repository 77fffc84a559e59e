//! Where keys come from.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use dcm_core::port::store::Error;

use super::keyring::{KeyId, Keyring, KeyringError};
use crate::lock::lock;

/// Gives the keys of an [`EncryptedStore`](super::EncryptedStore): a fixed [`Keyring`], a [`KeyFile`], or a key management
/// service.
///
/// # Contract
/// - It is asked for each read, page, change and write: it answers from memory where it can.
/// - A key that it gave once stays in what it gives for as long as anything is sealed or signed with it.
#[async_trait]
pub trait KeyringSource: Send + Sync + 'static {
    /// The keys as they are now. `missing` is a key that was met and that the last answer was without: it is looked for again.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when the keys can't be had now, [`Error::Failed`] when they can't be used.
    async fn keyring(&self, missing: Option<&KeyId>) -> Result<Arc<Keyring>, Error>;
}

#[async_trait]
impl KeyringSource for Arc<Keyring> {
    async fn keyring(&self, _missing: Option<&KeyId>) -> Result<Self, Error> {
        Ok(self.clone())
    }
}

/// The keys in a file, read again when it was replaced: all processes that share it take a new key into use at once. Where it can't
/// be read any more, the keys that are known go on.
#[derive(Debug)]
pub struct KeyFile {
    file: PathBuf,
    known: Mutex<Known>,
}

/// What was read of a file, and which file it was.
#[derive(Debug)]
struct Known {
    keyring: Arc<Keyring>,
    stamp: Stamp,
}

/// Tells a file from the one that it replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    changed: (i64, i64),
    bytes: u64,
}

impl KeyFile {
    /// Reads the keys, and makes the file (mode 0600, one random key) when there is none; its folder must be there. Blocking.
    ///
    /// # Errors
    /// [`KeyringError`].
    pub fn open_or_create(file: impl Into<PathBuf>) -> Result<Self, KeyringError> {
        let file = file.into();
        Keyring::open_or_create(&file).map(|keyring| Self::of(file, keyring))
    }

    fn of(file: PathBuf, keyring: Keyring) -> Self {
        // One that is replaced between is read again.
        let known = Known { keyring: Arc::new(keyring), stamp: Stamp::NONE };
        Self { file, known: Mutex::new(known) }
    }

    /// Reads the keys from a file that is there. Blocking.
    ///
    /// # Errors
    /// [`KeyringError`].
    pub fn open(file: impl Into<PathBuf>) -> Result<Self, KeyringError> {
        let file = file.into();
        Keyring::open(&file).map(|keyring| Self::of(file, keyring))
    }

    /// Adds a new random key to the file, and makes it the current one. All keys that are there stay. Blocking.
    ///
    /// # Errors
    /// [`KeyringError`]; [`KeyringError::UnderWay`] when somebody else changes the file, or was cut off while he did.
    pub fn renew(&self) -> Result<KeyId, KeyringError> {
        super::keyring::renew(&self.file)
    }

    /// Removes all keys from the file but the current one. What is sealed with another one can never be opened again. Gives the ids
    /// of those that are gone. Blocking. `current` is the key with which all is sealed, as the caller has seen.
    ///
    /// # Errors
    /// As [`Self::renew`]; [`KeyringError::OtherCurrent`] when another key is the current one by now: nothing is removed then.
    pub fn forget_all_but(&self, current: &KeyId) -> Result<Vec<KeyId>, KeyringError> {
        super::keyring::forget_all_but(&self.file, current)
    }

    /// The keys in the file, which are read when it is another one than before. A look at it takes microseconds.
    fn read(&self) -> Result<Arc<Keyring>, KeyringError> {
        let stamp = Stamp::of(&self.file);
        let mut known = self.known();
        if stamp != Some(known.stamp) {
            let keyring = Arc::new(Keyring::open(&self.file)?);
            *known = Known { keyring, stamp: stamp.unwrap_or(Stamp::NONE) };
        }
        Ok(known.keyring.clone())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }
}

#[async_trait]
impl KeyringSource for KeyFile {
    async fn keyring(&self, missing: Option<&KeyId>) -> Result<Arc<Keyring>, Error> {
        match self.read() {
            Ok(keyring) => Ok(keyring),
            Err(_) if missing.is_none() => Ok(self.known().keyring.clone()),
            Err(error) => Err(Error::Failed {
                reason: "the keys of the store can't be used".into(),
                source: Some(Arc::new(error)),
            }),
        }
    }
}

impl Stamp {
    /// That of no file.
    const NONE: Self = Self { inode: 0, changed: (0, 0), bytes: 0 };

    fn of(file: &FilePath) -> Option<Self> {
        let metadata = fs::metadata(file).ok()?;
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        Some(Self { inode: metadata.ino(), changed, bytes: metadata.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_key_file_that_was_replaced_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] =
            [(); 2].map(|()| KeyFile::open_or_create(folder.path().join("keys.json")).unwrap());
        let before = one.keyring(None).await.unwrap();
        assert!(Arc::ptr_eq(&before, &one.keyring(None).await.unwrap()), "it is not read for nothing");
        let id = other.renew().unwrap();
        let after = one.keyring(None).await.unwrap();
        assert_eq!((after.current(), before.current() == &id), (&id, false));
        assert!(after.key(before.current()).is_some());
    }

    #[tokio::test]
    async fn a_file_that_is_gone_takes_no_known_key_away_and_is_named_when_another_one_is_needed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("keys.json");
        let keys = KeyFile::open_or_create(&file).unwrap();
        fs::remove_file(&file).unwrap();
        let known = keys.keyring(None).await.unwrap();
        assert!(known.key(known.current()).is_some() && !file.exists());
        let error = keys.keyring(Some(&"k2".parse().unwrap())).await.err().unwrap();
        assert!(std::error::Error::source(&error).unwrap().to_string().contains("keys.json"), "{error:?}");
    }

    #[test]
    fn earlier_keys_are_forgotten_and_the_current_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let keys = KeyFile::open_or_create(folder.path().join("keys.json")).unwrap();
        let [second, third] = [(); 2].map(|()| keys.renew().unwrap());
        let first: KeyId = "k1".parse().unwrap();
        let refused = keys.forget_all_but(&second).unwrap_err();
        assert!(
            matches!(&refused, KeyringError::OtherCurrent { current, .. } if *current == third),
            "{refused}"
        );
        assert!(keys.read().unwrap().key(&first).is_some());
        assert_eq!(keys.forget_all_but(&third).unwrap(), [first.clone(), second]);
        let left = keys.read().unwrap();
        assert_eq!((left.current(), left.key(&first).is_none()), (&third, true));
        assert_eq!(keys.forget_all_but(&third).unwrap(), []);
        assert_ne!(keys.renew().unwrap(), first, "a name means one key for ever");
    }

    #[test]
    fn two_do_not_change_a_key_file_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let keys = KeyFile::open_or_create(folder.path().join("keys.json")).unwrap();
        fs::write(folder.path().join("keys.json.new"), "").unwrap();
        let error = keys.renew().unwrap_err();
        assert!(
            matches!(error, KeyringError::UnderWay { .. }) && error.to_string().contains("keys.json.new")
        );
    }
}
