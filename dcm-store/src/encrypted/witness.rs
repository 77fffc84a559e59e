//! A word in the store that only the right keys open: wrong ones are told before anything is done with them.

use dcm_core::port::room::Room;
use dcm_core::port::store::{Document, Error, Store, StoreExt as _, Write};
use dcm_core::secret::SECRET_MEMBER;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::json;

use super::EncryptedStore;

/// Where the word lies.
pub const ROOM: Room =
    Room { name: "sealed-with", keys: &[], holds: "a random word that only the right keys open" };

/// The version of the record's form.
const SCHEMA: u32 = 1;

/// Bytes of the word.
const WORD_BYTES: usize = 16;

/// Why keys can't be used with a store.
#[derive(Debug, Clone, thiserror::Error)]
pub enum KeysError {
    /// They don't open the word.
    #[error("these are not the keys of the store")]
    Wrong(#[source] Error),
    /// The store.
    #[error(transparent)]
    Store(#[from] Error),
}

/// True when somebody has noted in the store with which keys its secrets are sealed: there must be such keys then.
///
/// # Errors
/// Those of [`Store::get`].
pub async fn is_noted(store: &(impl Store + ?Sized)) -> Result<bool, Error> {
    Ok(store.get(&ROOM.at(&[])).await?.is_some())
}

impl<S: Store + ?Sized> EncryptedStore<S> {
    /// Sees that the keys are those that were noted here, if any were.
    ///
    /// # Errors
    /// [`KeysError`].
    pub async fn check_keys(&self) -> Result<(), KeysError> {
        match self.get(&ROOM.at(&[])).await? {
            Some(noted) => noted.document.text().map(drop).map_err(KeysError::Wrong),
            None => Ok(()),
        }
    }

    /// Notes with which keys secrets are sealed here, where nobody has.
    ///
    /// # Errors
    /// [`KeysError`].
    pub async fn note_keys(&self) -> Result<(), KeysError> {
        if is_noted(&*self.inner).await? {
            return self.check_keys().await;
        }
        let mut word = [0; WORD_BYTES];
        let no_random =
            |_| Error::Failed { reason: "the system gives no random numbers".into(), source: None };
        SystemRandom::new().fill(&mut word).map_err(no_random)?;
        let word = format!("{:032x}", u128::from_be_bytes(word));
        let document = Document::from_value(&json!({ "schema": SCHEMA, "word": { SECRET_MEMBER: word } }))?;
        match self.write_one(Write::Create { path: ROOM.at(&[]), document }).await {
            // Somebody else was faster.
            Err(Error::Conflict { .. }) => self.check_keys().await,
            noted => Ok(noted.map(drop)?),
        }
    }
}
