//! The keys, which are never in the store that they are for.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path as FilePath, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use aws_lc_rs::aead::{CHACHA20_POLY1305, LessSafeKey, UnboundKey};
use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::mac::{self, SigningKey};
use crate::private_file;

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;

/// Longest key id, in bytes: it is in every sealed value.
const KEY_ID_BYTES_MAX: usize = 64;

/// Largest keyring file, in bytes: thousands of keys, and no accident such as a directory of backups.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Names a key in a keyring and in what it sealed: 1 to 64 letters, digits, `.`, `_` or `-`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyId(Arc<str>);

/// A text that is not a key id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a key id is 1 to 64 letters, digits, '.', '_' or '-'")]
pub struct InvalidKeyId;

impl FromStr for KeyId {
    type Err = InvalidKeyId;

    fn from_str(text: &str) -> Result<Self, InvalidKeyId> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let fits = (1..=KEY_ID_BYTES_MAX).contains(&text.len());
        if fits && text.bytes().all(legal) { Ok(Self(text.into())) } else { Err(InvalidKeyId) }
    }
}

impl TryFrom<String> for KeyId {
    type Error = InvalidKeyId;

    fn try_from(text: String) -> Result<Self, InvalidKeyId> {
        text.parse()
    }
}

impl From<KeyId> for String {
    fn from(id: KeyId) -> Self {
        id.0.as_ref().into()
    }
}

impl KeyId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why there is no keyring.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// The file can't be read.
    #[error("can't read the keys in {}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What happened below.
        #[source]
        source: io::Error,
    },
    /// The file can't be made.
    #[error("can't make the key file {}", file.display())]
    Create {
        /// The file.
        file: PathBuf,
        /// What happened below.
        #[source]
        source: io::Error,
    },
    /// Others than its owner have rights to the file.
    #[error("others have rights to the key file {} (mode {mode:04o}): take them away and think of its keys as known", file.display())]
    OpenToOthers {
        /// The file.
        file: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The file holds something else than keys.
    #[error("{} is no key file: {reason}", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// What is wrong with it, without its content.
        reason: String,
    },
    /// The system gives no random numbers.
    #[error("the system gives no random numbers for a key")]
    Random,
    /// Somebody else changes the file, or was cut off while he did.
    #[error("somebody changes the keys: {} is there; when nobody does, it was left by one who was cut off, and may go", file.display())]
    UnderWay {
        /// What the file is to be replaced by.
        file: PathBuf,
    },
    /// Another key became the current one meanwhile.
    #[error("key {current} in {} has become the current one, where {expected} was: no key is removed", file.display())]
    OtherCurrent {
        /// The file.
        file: PathBuf,
        /// The key that was seen to be current.
        expected: KeyId,
        /// The key that is.
        current: KeyId,
    },
}

/// Keys by their ids. One is current, and seals and signs; all open and verify.
///
/// A key file is `{"current": "k1", "keys": {"k1": "<base64 of 32 bytes>"}}`. Where another key seals from now on, the old
/// ones stay until each document that they sealed or signed was written anew ([`EncryptedStore::rekey`](super::EncryptedStore::rekey)).
pub struct Keyring {
    current: KeyId,
    keys: BTreeMap<KeyId, Key>,
}

/// What is done with one key.
struct Key {
    sealing: LessSafeKey,
    signing: SigningKey,
}

/// The content of a key file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    current: KeyId,
    keys: BTreeMap<KeyId, String>,
}

impl Keyring {
    /// A keyring of one key, which is current.
    #[must_use]
    pub fn new(id: KeyId, key: &[u8; KEY_BYTES]) -> Self {
        let keys = key_of(key).map(|key| (id.clone(), key)).into_iter().collect();
        Self { current: id, keys }
    }

    /// Adds an earlier key, which opens and verifies, and does not seal or sign. The current one is not replaced.
    #[must_use]
    pub fn with_earlier(mut self, id: KeyId, key: &[u8; KEY_BYTES]) -> Self {
        if let Some(key) = key_of(key) {
            self.keys.entry(id).or_insert(key);
        }
        self
    }

    /// Reads the keys from the text of a key file, such as the value of an environment variable.
    ///
    /// # Errors
    /// What is wrong with it, without its content.
    pub fn from_json(text: &str) -> Result<Self, String> {
        parse(text)
    }

    /// Reads the keys from a file. Blocking.
    ///
    /// # Errors
    /// [`KeyringError`].
    pub fn open(file: impl AsRef<FilePath>) -> Result<Self, KeyringError> {
        read(file.as_ref())
    }

    /// Reads the keys from a file, and makes it (mode 0600, one random key) when there is none; its folder must be
    /// there. Reads and writes a few hundred bytes, blocking.
    ///
    /// # Errors
    /// [`KeyringError`].
    pub fn open_or_create(file: impl AsRef<FilePath>) -> Result<Self, KeyringError> {
        let file = file.as_ref();
        match Self::open(file) {
            Err(KeyringError::Read { source, .. }) if source.kind() == ErrorKind::NotFound => {
                create(file)?;
                // Also when another process was faster: its keys are the ones that count.
                read(file)
            }
            found => found,
        }
    }

    /// The key that seals and signs.
    #[must_use]
    pub fn current(&self) -> &KeyId {
        &self.current
    }

    pub(super) fn key(&self, id: &KeyId) -> Option<&LessSafeKey> {
        self.keys.get(id).map(|key| &key.sealing)
    }

    pub(super) fn signing_key(&self, id: &KeyId) -> Option<&SigningKey> {
        self.keys.get(id).map(|key| &key.signing)
    }

    pub(super) fn has(&self, id: &KeyId) -> bool {
        self.keys.contains_key(id)
    }
}

impl fmt::Debug for Keyring {
    /// The ids alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring")
            .field("current", &self.current)
            .field("keys", &self.keys.keys())
            .finish_non_exhaustive()
    }
}

/// The key of so many bytes; none for another number of them.
fn key_of(bytes: &[u8]) -> Option<Key> {
    let sealing = UnboundKey::new(&CHACHA20_POLY1305, bytes).ok().map(LessSafeKey::new)?;
    Some(Key { sealing, signing: mac::signing_key(bytes.try_into().ok()?) })
}

fn create(file: &FilePath) -> Result<(), KeyringError> {
    let (id, key) = (KeyId("k1".into()), random_key()?);
    let stored = Stored { keys: BTreeMap::from([(id.clone(), key)]), current: id };
    match private_file::create(file, |new| stored.write(new)) {
        Ok(_) => Ok(()),
        Err(private_file::Failed::File(source) | private_file::Failed::Filling(source)) => {
            Err(KeyringError::Create { file: file.to_path_buf(), source })
        }
    }
}

/// Adds a random key to a key file, which is current from then on.
pub(super) fn renew(file: &FilePath) -> Result<KeyId, KeyringError> {
    replace(file, |stored| {
        // Above all that there are, and so above all that were forgotten.
        let numbers = stored.keys.keys().filter_map(|id| id.0.strip_prefix('k')?.parse::<u32>().ok());
        let id = KeyId(format!("k{}", numbers.max().unwrap_or(0).saturating_add(1)).into());
        stored.keys.insert(id.clone(), random_key()?);
        stored.current = id.clone();
        Ok(id)
    })
}

/// Removes all keys from a key file but the current one, which has to be this one.
pub(super) fn forget_all_but(file: &FilePath, current: &KeyId) -> Result<Vec<KeyId>, KeyringError> {
    replace(file, |stored| {
        if stored.current != *current {
            let (expected, current) = (current.clone(), stored.current.clone());
            return Err(KeyringError::OtherCurrent { file: file.to_path_buf(), expected, current });
        }
        let (kept, gone) =
            mem::take(&mut stored.keys).into_iter().partition::<BTreeMap<_, _>, _>(|(id, _)| id == current);
        stored.keys = kept;
        Ok(gone.into_keys().collect())
    })
}

/// Replaces a key file by a changed one. One changes it at a time: keys that a second one did not see would be lost.
fn replace<T>(
    file: &FilePath,
    change: impl FnOnce(&mut Stored) -> Result<T, KeyringError>,
) -> Result<T, KeyringError> {
    let mut name = file.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    let failed = |source| KeyringError::Create { file: file.to_path_buf(), source };
    match private_file::reserve(&new) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(KeyringError::UnderWay { file: new });
        }
        reserved => reserved.map_err(failed)?,
    }
    let replaced = read_text(file).and_then(|text| {
        let malformed = |reason| KeyringError::Malformed { file: file.to_path_buf(), reason };
        parse(&text).map_err(malformed)?;
        let mut stored: Stored = serde_json::from_str(&text).map_err(|error| malformed(not_json(&error)))?;
        let changed = change(&mut stored)?;
        stored.write(&new).and_then(|()| private_file::replace(file, &new)).map_err(failed)?;
        Ok(changed)
    });
    if replaced.is_err() {
        let _ = fs::remove_file(&new);
    }
    replaced
}

impl Stored {
    fn write(&self, file: &FilePath) -> io::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        let mut file = File::options().write(true).truncate(true).open(file)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }
}

fn random_key() -> Result<String, KeyringError> {
    let mut key = [0; KEY_BYTES];
    SystemRandom::new().fill(&mut key).map_err(|_| KeyringError::Random)?;
    Ok(BASE64.encode(key))
}

fn read(file: &FilePath) -> Result<Keyring, KeyringError> {
    let malformed = |reason| KeyringError::Malformed { file: file.to_path_buf(), reason };
    parse(&read_text(file)?).map_err(malformed)
}

fn read_text(file: &FilePath) -> Result<String, KeyringError> {
    let unreadable = |source| KeyringError::Read { file: file.to_path_buf(), source };
    let opened = File::open(file).map_err(unreadable)?;
    // Of the opened file, not of the name, which may mean another one by now.
    let mode = opened.metadata().map_err(unreadable)?.permissions().mode();
    if mode & private_file::OTHERS != 0 {
        return Err(KeyringError::OpenToOthers { file: file.to_path_buf(), mode: mode & 0o7777 });
    }
    let mut text = String::new();
    opened.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

fn not_json(error: &serde_json::Error) -> String {
    format!("line {}, column {}", error.line(), error.column())
}

fn parse(text: &str) -> Result<Keyring, String> {
    let stored: Stored = serde_json::from_str(text).map_err(|error| not_json(&error))?;
    let mut keys = BTreeMap::new();
    for (id, key) in stored.keys {
        let key = BASE64.decode(key).ok().and_then(|bytes| key_of(&bytes));
        let key = key.ok_or_else(|| format!("key {id} is not the base64 of {KEY_BYTES} bytes"))?;
        keys.insert(id, key);
    }
    if !keys.contains_key(&stored.current) {
        return Err(format!("the current key {} is missing", stored.current));
    }
    Ok(Keyring { current: stored.current, keys })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_key_file_is_made_once_for_its_owner_only_and_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("keys.json");
        let made = Keyring::open_or_create(&file).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o600);
        let read = Keyring::open_or_create(&file).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        assert_eq!((made.current(), fs::read_dir(&folder).unwrap().count()), (read.current(), 1));
    }

    #[test]
    fn a_key_file_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("keys.json");
        Keyring::open_or_create(&file).unwrap();
        for mode in [0o640, 0o604, 0o620] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            let error = Keyring::open_or_create(&file).unwrap_err();
            assert!(matches!(error, KeyringError::OpenToOthers { mode: found, .. } if found == mode));
        }
    }

    #[test]
    fn a_malformed_key_file_says_what_is_wrong_and_not_what_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("keys.json");
        Keyring::open_or_create(&file).unwrap();
        for text in [
            r#"{"current":"a","keys":{"a":"aHVudGVyMg=="}}"#,
            r#"{"current":"a","keys":{}}"#,
            r#"{"current":"a","keys":{"a":"hunter2"}}"#,
            r#"hunter2"#,
        ] {
            fs::write(&file, text).unwrap();
            let error = Keyring::open_or_create(&file).unwrap_err();
            assert!(matches!(error, KeyringError::Malformed { .. }), "{error}");
            assert!(!format!("{error:?}").contains("hunter2") && !format!("{error:?}").contains("aHVudGVy"));
        }
    }

    #[test]
    fn a_missing_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = Keyring::open_or_create(folder.path().join("none/keys.json")).unwrap_err();
        assert!(
            matches!(&error, KeyringError::Create { .. }) && error.to_string().contains("none/keys.json")
        );
    }

    #[test]
    fn keys_are_never_in_debug() {
        let keyring = Keyring::new("new".parse().unwrap(), &[77; KEY_BYTES]);
        let text = format!("{:?}", keyring.with_earlier("old".parse().unwrap(), &[78; KEY_BYTES]));
        assert_eq!(text, r#"Keyring { current: KeyId("new"), keys: [KeyId("new"), KeyId("old")], .. }"#);
    }
}
