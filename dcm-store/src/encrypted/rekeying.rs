//! Sealing and signing anew what an earlier key has sealed or signed.

use std::collections::BTreeSet;
use std::pin::pin;

use dcm_core::port::store::{Entry, Error, PageRequest, Prefix, Store, StoreExt, Write};
use futures::TryStreamExt as _;
use serde::Serialize;

use super::{EncryptedStore, KeyId, Keyring, Opening, Unverified, seal};

/// How often all documents are looked through: others may go on writing with the earlier key for a moment.
const PASSES_MAX: usize = 10;

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rekeyed {
    /// How many documents there are, of any kind.
    pub documents: usize,
    /// How many were written anew.
    pub resealed: usize,
}

/// Why something stays sealed or signed with an earlier key.
#[derive(Debug, thiserror::Error)]
pub enum RekeyError {
    /// Others seal with another key again and again.
    #[error("others go on sealing with another key than {current}: see that all have the same keys")]
    OthersGoOn {
        /// The key that seals here.
        current: String,
    },
    /// Some documents can't be read, opened or written. All others are sealed anew.
    #[error("some documents stay as they are ({documents}); all others are sealed with the current key")]
    Left {
        /// How many.
        documents: usize,
        /// What the first one says.
        #[source]
        first: Error,
    },
    /// The store, or the keys.
    #[error(transparent)]
    Store(#[from] Error),
}

/// What stays as it is: how many documents, and what the first one says.
type Left = Option<(usize, Error)>;

impl<S: Store + ?Sized> EncryptedStore<S> {
    /// Writes each document anew that another key than the current one has signed, or sealed a secret of, and reports its progress.
    /// Documents stay as they are, and get new versions; other clients may go on meanwhile. It may be cut off and begun again.
    ///
    /// # Errors
    /// [`RekeyError`]: what was done stays. A document that can't be read, such as one without a MAC, is not signed, and keeps no
    /// other from being written anew; once it is restored, it may need an earlier key.
    pub async fn rekey(&self, mut progress: impl FnMut(&Rekeyed) + Send) -> Result<Rekeyed, RekeyError> {
        let mut rekeyed = Rekeyed { documents: 0, resealed: 0 };
        for _ in 0..PASSES_MAX {
            rekeyed.documents = 0;
            let mut left = None;
            if self.pass(&mut rekeyed, &mut left, &mut progress).await? == Found::CurrentAlone {
                return match left {
                    Some((documents, first)) => Err(RekeyError::Left { documents, first }),
                    None => Ok(rekeyed),
                };
            }
        }
        let current = self.keys.keyring(None).await?.current().to_string();
        Err(RekeyError::OthersGoOn { current })
    }

    /// Looks through all documents once.
    async fn pass(
        &self,
        rekeyed: &mut Rekeyed,
        left: &mut Left,
        progress: &mut (impl FnMut(&Rekeyed) + Send),
    ) -> Result<Found, Error> {
        let mut found = Found::CurrentAlone;
        let mut pages = pin!(self.inner.pages(Prefix::everything(), PageRequest::default()));
        while let Some(entries) = pages.try_next().await? {
            for entry in entries {
                rekeyed.documents += 1;
                let current = self.keys.keyring(None).await?;
                match self.reseal(&current, entry).await {
                    Ok(Resealed::NotNeeded) => {}
                    Ok(done) => {
                        rekeyed.resealed += usize::from(done == Resealed::Done);
                        found = Found::Earlier;
                    }
                    Err(error) if error.is_retryable() => return Err(error),
                    Err(error) => left.get_or_insert((0, error)).0 += 1,
                }
            }
            progress(rekeyed);
        }
        Ok(found)
    }

    async fn reseal(&self, keyring: &Keyring, kept: Entry) -> Result<Resealed, Error> {
        // Also where it names the current key: that id is a client's to write, and earlier keys go when no document is left.
        let opened = Opening::begin(&*self.keys).await?.open(&kept).await?;
        if keys_of(&kept)?.iter().all(|id| id == keyring.current()) {
            return Ok(Resealed::NotNeeded);
        }
        let Entry { path, version, document } = opened;
        match self.write_one(Write::Update { path, version, document }).await {
            Ok(_) => Ok(Resealed::Done),
            Err(Error::Conflict { .. }) => Ok(Resealed::ByOthers),
            Err(error) => Err(error),
        }
    }
}

/// The keys that a document is signed and its secrets are sealed with.
fn keys_of(kept: &Entry) -> Result<BTreeSet<KeyId>, Error> {
    let unverified = Unverified::read(&kept.path, &kept.document)?;
    let mut keys = seal::keys_of(&kept.path, &unverified.content())?;
    keys.insert(unverified.key);
    Ok(keys)
}

/// What became of one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resealed {
    /// It is signed, and all its secrets, if any, are sealed with the current key.
    NotNeeded,
    /// It was written anew.
    Done,
    /// Somebody else wrote it: the next pass sees with which key.
    ByOthers,
}

/// What documents are signed and sealed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    CurrentAlone,
    Earlier,
}
