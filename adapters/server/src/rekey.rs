//! A new key for the stores of an installation.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dcm_store::EncryptedStore;
use dcm_store::encrypted::{KeyFile, KeyringError, KeyringSource, RekeyError as StoreError, Rekeyed};
use serde::Serialize;

use crate::configuration::{Configuration, Keys};
use crate::deployment::{OpenError, Stores};

/// What is to be done with the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rekeying {
    /// Makes a new key first. Without, all is sealed and signed with the one that is current.
    pub new_key: bool,
    /// Removes all earlier keys at the end. What else was written with them, such as a backup, can't be read any more.
    pub forget_earlier: bool,
    /// How long a write may be under way that was sealed before the current key was made: several times the store's timeout, as a
    /// write may sign in, go to more than one server, and be tried again. Only where earlier keys are removed.
    pub settle: Duration,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RekeyReport {
    /// The key that seals and signs from now on.
    pub current: String,
    /// The documents of all stores.
    #[serde(flatten)]
    pub rekeyed: Rekeyed,
    /// The keys that were removed.
    pub forgotten: Vec<String>,
}

/// Why it could not be done.
#[derive(Debug, thiserror::Error)]
pub enum RekeyError {
    /// A store, or the keys, can't be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The keys are not in a file of ours.
    #[error("keys that are not in a file are made and removed where they come from")]
    NoFile,
    /// The store keeps nothing, or holds secrets in clear.
    #[error("nothing in this store is encrypted")]
    NotEncrypted,
    /// The file of keys can't be changed.
    #[error("the keys can't be changed")]
    Keys(#[source] KeyringError),
    /// The work on the file of keys was cut off.
    #[error("the key file {} could not be changed", file.display())]
    KeysUnchanged {
        /// The file.
        file: PathBuf,
    },
    /// Some of it is still sealed or signed with an earlier key.
    #[error("not everything could be sealed anew")]
    Store(#[from] StoreError),
}

/// Signs all documents, and seals all secrets, in the stores of a configuration with one key. Workers go on: those who have their keys from
/// the same file take the new one at once. It may be cut off and begun again, and tells how far it is. Before earlier keys are
/// removed, it waits for writes that were sealed with them and are still under way ([`Rekeying::settle`]), and looks once more; none
/// is removed when yet another key has become the current one meanwhile.
///
/// # Errors
/// [`RekeyError`]. No earlier key is removed then.
pub async fn rekey(
    configuration: &Configuration,
    rekeying: Rekeying,
    mut progress: impl FnMut(&Rekeyed) + Send,
) -> Result<RekeyReport, RekeyError> {
    let Rekeying { new_key, forget_earlier, settle } = rekeying;
    if (new_key || forget_earlier) && !matches!(configuration.keys, Keys::File(_)) {
        return Err(RekeyError::NoFile);
    }
    let stores = Stores::open_existing(configuration).await?;
    if stores.all().any(|(_, store)| store.capabilities().holds_secrets) {
        return Err(RekeyError::NotEncrypted);
    }
    let keys = stores.keys(&configuration.keys).await?.ok_or(RekeyError::NotEncrypted)?;
    stores.note_keys(&keys).await?;
    if new_key {
        on_file(configuration, KeyFile::renew).await?;
    }
    let current = keys.keyring(None).await.map_err(StoreError::Store)?.current().clone();
    let mut rekeyed = reseal(&stores, &keys, 0, &mut progress).await?;
    let mut forgotten = Vec::new();
    if forget_earlier {
        tracing::info!(seconds = settle.as_secs(), "waiting for writes that are under way");
        tokio::time::sleep(settle).await;
        rekeyed = reseal(&stores, &keys, rekeyed.resealed, &mut progress).await?;
        let sealed_with = current.clone();
        forgotten = on_file(configuration, move |file| file.forget_all_but(&sealed_with)).await?;
    }
    let forgotten = forgotten.iter().map(ToString::to_string).collect();
    Ok(RekeyReport { current: current.to_string(), rekeyed, forgotten })
}

/// Seals all secrets of all stores with the current key; so many were before. What can't be read in one store keeps nothing in
/// the other from it.
async fn reseal(
    stores: &Stores,
    keys: &Arc<dyn KeyringSource>,
    resealed: usize,
    progress: &mut (impl FnMut(&Rekeyed) + Send),
) -> Result<Rekeyed, RekeyError> {
    let mut rekeyed = Rekeyed { documents: 0, resealed };
    let mut left = None;
    for (_, store) in stores.all() {
        let before = rekeyed;
        let store = EncryptedStore::with_keys(store.clone(), keys.clone());
        match store.rekey(|now| progress(&sum(&before, now))).await {
            Ok(done) => rekeyed = sum(&before, &done),
            Err(error @ StoreError::Left { .. }) => drop(left.get_or_insert(error)),
            Err(error) => return Err(error.into()),
        }
    }
    left.map_or(Ok(rekeyed), |error| Err(error.into()))
}

fn sum(one: &Rekeyed, other: &Rekeyed) -> Rekeyed {
    Rekeyed { documents: one.documents + other.documents, resealed: one.resealed + other.resealed }
}

/// Changes the file of keys.
async fn on_file<T: Send + 'static>(
    configuration: &Configuration,
    change: impl FnOnce(&KeyFile) -> Result<T, KeyringError> + Send + 'static,
) -> Result<T, RekeyError> {
    let Keys::File(file) = configuration.keys.clone() else { return Err(RekeyError::NoFile) };
    let path = file.clone();
    let changed = tokio::task::spawn_blocking(move || change(&KeyFile::open(path)?)).await;
    changed.map_err(|_| RekeyError::KeysUnchanged { file })?.map_err(RekeyError::Keys)
}
