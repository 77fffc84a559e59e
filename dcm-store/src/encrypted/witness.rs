//! A word in the store that only the right keys open: wrong ones are told before anything is done with them.
//!
//! Keys are right when they verify a document of the store, or when none has a MAC. The word is there so that one document
//! has to be read for that, and so that there is something sealed from the start. Where it is not, or is damaged, the other
//! documents are tried, and it is written anew.

use std::pin::pin;

use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use dcm_core::port::room::Room;
use dcm_core::port::store::{
    Document, Entry, Error, PageRequest, Path, Prefix, Store, StoreExt as _, Version, Write,
};
use dcm_core::secret::Secret;
use futures::{Stream, StreamExt as _, TryStreamExt as _, future, stream};
use serde::{Deserialize, Serialize};

use super::{EncryptedStore, mac, seal};

/// Where the word lies. Each store has one of its own, so that it is no part of an export ([`crate::transfer`]).
pub const ROOM: Room = Room {
    name: crate::transfer::SEALED_WITH,
    keys: &[],
    holds: "a random word that only the right keys open: in each store that holds secrets",
};

/// The version of the record's form.
const SCHEMA: u32 = 1;

/// Bytes of the word.
const WORD_BYTES: usize = 16;

/// So many documents that keys don't open say that they are the wrong ones.
const SHUT_MAX: usize = 100;

/// The record.
#[derive(Serialize, Deserialize)]
struct Record {
    schema: u32,
    word: Secret,
}

/// Why keys can't be used with a store.
#[derive(Debug, Clone, thiserror::Error)]
pub enum KeysError {
    /// They verify and open nothing of what is kept; this is the error of the first attempt.
    #[error("these are not the keys of the store")]
    Wrong(#[source] Error),
    /// The store.
    #[error(transparent)]
    Store(#[from] Error),
}

/// True when something in the store is signed or sealed: there must be keys for it then. Reads everything where nothing is.
///
/// # Errors
/// Those of [`Store::list`].
pub async fn is_sealed(store: &(impl Store + ?Sized)) -> Result<bool, Error> {
    Ok(store.get(&path()).await?.is_some() || pin!(protected(store)).try_next().await?.is_some())
}

impl<S: Store + ?Sized> EncryptedStore<S> {
    /// Sees that the keys are those of the store.
    ///
    /// # Errors
    /// [`KeysError`].
    pub async fn check_keys(&self) -> Result<(), KeysError> {
        self.tried().await.map(drop)
    }

    /// The same, and notes what says so at once the next time, where that is not there yet.
    ///
    /// # Errors
    /// [`KeysError`].
    pub async fn note_keys(&self) -> Result<(), KeysError> {
        let write = match self.tried().await? {
            Word::Opens => return Ok(()),
            Word::Missing => Write::Create { path: path(), document: word()? },
            Word::Damaged(version) => Write::Update { path: path(), version, document: word()? },
        };
        match self.write_one(write.clone()).await {
            // Somebody else was faster.
            Err(Error::Conflict { .. }) => self.check_keys().await,
            // Where it can't be written over, the documents go on saying it.
            Err(error) if matches!(write, Write::Update { .. }) && !error.is_retryable() => Ok(()),
            noted => Ok(noted.map(drop)?),
        }
    }

    /// Tries the keys.
    async fn tried(&self) -> Result<Word, KeysError> {
        let Some(kept) = self.inner.get(&path()).await? else {
            self.open_any(None).await?;
            return Ok(Word::Missing);
        };
        let version = kept.version;
        let is_signed = mac::is_signed(&kept.document);
        match self.opened(kept).await.and_then(|entry| entry.document.read::<Record>()) {
            Ok(_) => return Ok(Word::Opens),
            Err(error) if error.is_retryable() => return Err(error.into()),
            Err(error) if is_signed => self.open_any(Some(error)).await?,
            Err(_) => self.open_any(None).await?,
        }
        Ok(Word::Damaged(version))
    }

    /// Verifies and opens one of the documents with a MAC, if there are any; `shut` is the error of an earlier attempt.
    async fn open_any(&self, mut shut: Option<Error>) -> Result<(), KeysError> {
        let signed =
            protected(&self.inner).try_filter(|entry| future::ready(mac::is_signed(&entry.document)));
        let mut signed = pin!(signed.take(SHUT_MAX));
        while let Some(entry) = signed.try_next().await? {
            match self.opened(entry).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_retryable() => return Err(error.into()),
                Err(error) => shut = shut.or(Some(error)),
            }
        }
        shut.map_or(Ok(()), |error| Err(KeysError::Wrong(error)))
    }
}

/// The word, when the keys are right.
enum Word {
    Opens,
    Missing,
    Damaged(Version),
}

fn path() -> Path {
    ROOM.at(&[])
}

fn word() -> Result<Document, Error> {
    let mut word = [0; WORD_BYTES];
    let no_random = |_| Error::Failed { reason: "the system gives no random numbers".into(), source: None };
    SystemRandom::new().fill(&mut word).map_err(no_random)?;
    let word = Secret::new(format!("{:032x}", u128::from_be_bytes(word)));
    Document::from_value(&Record { schema: SCHEMA, word })
}

/// The documents that are signed or have something sealed, but for the word.
fn protected(store: &(impl Store + ?Sized)) -> impl Stream<Item = Result<Entry, Error>> + Send + '_ {
    let pages = store.pages(Prefix::everything(), PageRequest::default());
    let entries = pages.map_ok(|entries| stream::iter(entries.into_iter().map(Ok))).try_flatten();
    let word = path();
    entries.try_filter(move |entry| future::ready(entry.path != word && is_protected(entry)))
}

fn is_protected(entry: &Entry) -> bool {
    mac::is_signed(&entry.document) || seal::is_sealed(entry)
}
