//! A new key for the stores of an installation.

use std::path::PathBuf;
use std::sync::Arc;

use dcm_core::port::store::Store;
use dcm_store::EncryptedStore;
use dcm_store::encrypted::{KeyFile, KeyringError, RekeyError as StoreError, Rekeyed};
use serde::Serialize;

use crate::configuration::{Configuration, Keys};
use crate::deployment::{OpenError, open_keys, open_sealed};

/// What is to be done with the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rekeying {
    /// Makes a new key first. Without, all is sealed with the one that is current.
    pub new_key: bool,
    /// Removes all earlier keys at the end. What else is sealed with them, such as a backup, can't be opened any more.
    pub forget_earlier: bool,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RekeyReport {
    /// The key that seals from now on.
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
    /// Some of it is still sealed with an earlier key.
    #[error("not everything could be sealed anew")]
    Store(#[from] StoreError),
}

/// Seals all secrets in the stores of a configuration with one key. Whoever works on them goes on: those who have their keys from
/// the same file take the new one at once. It may be cut off and begun again, and tells how far it is.
///
/// # Errors
/// [`RekeyError`]. No earlier key is removed then.
pub async fn rekey(
    configuration: &Configuration,
    rekeying: Rekeying,
    mut progress: impl FnMut(&Rekeyed) + Send,
) -> Result<RekeyReport, RekeyError> {
    let Rekeying { new_key, forget_earlier } = rekeying;
    if (new_key || forget_earlier) && !matches!(configuration.keys, Keys::File(_)) {
        return Err(RekeyError::NoFile);
    }
    let stores = open_stores(configuration).await?;
    let keys = open_keys(&configuration.keys).await?;
    if new_key {
        on_file(configuration, KeyFile::renew).await?;
    }
    let mut rekeyed = Rekeyed { documents: 0, resealed: 0 };
    for store in stores {
        let before = rekeyed;
        let store = EncryptedStore::with_keys(store, keys.clone());
        let done = store.rekey(|now| progress(&sum(&before, now))).await?;
        rekeyed = sum(&before, &done);
    }
    let forgotten = match forget_earlier {
        true => on_file(configuration, KeyFile::forget_earlier).await?,
        false => Vec::new(),
    };
    let keyring = keys.keyring(None).await.map_err(StoreError::Store)?;
    let forgotten = forgotten.iter().map(ToString::to_string).collect();
    Ok(RekeyReport { current: keyring.current().to_string(), rekeyed, forgotten })
}

fn sum(one: &Rekeyed, other: &Rekeyed) -> Rekeyed {
    Rekeyed { documents: one.documents + other.documents, resealed: one.resealed + other.resealed }
}

/// The stores, as they are without their keys.
async fn open_stores(configuration: &Configuration) -> Result<Vec<Arc<dyn Store>>, RekeyError> {
    let mut stores = Vec::new();
    for url in [Some(&configuration.store), configuration.contexts_store.as_ref()].into_iter().flatten() {
        let store = open_sealed(url).await.map_err(OpenError::Store)?;
        if store.capabilities().holds_secrets {
            return Err(RekeyError::NotEncrypted);
        }
        stores.push(store);
    }
    Ok(stores)
}

/// Changes the file of keys.
async fn on_file<T: Send + 'static>(
    configuration: &Configuration,
    change: impl FnOnce(&KeyFile) -> Result<T, KeyringError> + Send + 'static,
) -> Result<T, RekeyError> {
    let Keys::File(file) = configuration.keys.clone() else { return Err(RekeyError::NoFile) };
    let path = file.clone();
    let changed = tokio::task::spawn_blocking(move || change(&KeyFile::open_or_create(path)?)).await;
    changed.map_err(|_| RekeyError::KeysUnchanged { file })?.map_err(RekeyError::Keys)
}
