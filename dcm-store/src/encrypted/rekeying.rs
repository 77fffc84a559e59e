//! Sealing anew what an earlier key has sealed.

use std::pin::pin;

use dcm_core::port::store::{Entry, Error, PageRequest, Prefix, Store, StoreExt, Write};
use futures::TryStreamExt as _;
use serde::Serialize;

use super::{EncryptedStore, seal};

/// How often all documents are looked through: others may go on sealing with the earlier key for a moment.
const PASSES_MAX: usize = 10;

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rekeyed {
    /// How many documents there are, of any kind.
    pub documents: usize,
    /// How many were written anew.
    pub resealed: usize,
}

/// Why something stays sealed with an earlier key.
#[derive(Debug, thiserror::Error)]
pub enum RekeyError {
    /// Others seal with another key again and again.
    #[error("others go on sealing with another key than {current}: see that all have the same keys")]
    OthersGoOn {
        /// The key that seals here.
        current: String,
    },
    /// The store, or the keys.
    #[error(transparent)]
    Store(#[from] Error),
}

impl<S: Store + ?Sized> EncryptedStore<S> {
    /// Seals all secrets with the current key that are sealed with another one, and says so as it goes. Documents stay as they
    /// are, and get new versions; nobody has to stop for it. It may be cut off and begun again.
    ///
    /// # Errors
    /// [`RekeyError`]: what was done stays. Where a document can't be read, all others are sealed anew: once somebody mends it, it may
    /// need an earlier key.
    pub async fn rekey(&self, mut progress: impl FnMut(&Rekeyed) + Send) -> Result<Rekeyed, RekeyError> {
        let mut rekeyed = Rekeyed { documents: 0, resealed: 0 };
        for _ in 0..PASSES_MAX {
            rekeyed.documents = 0;
            let mut unread = None;
            if self.pass(&mut rekeyed, &mut unread, &mut progress).await? == Found::CurrentAlone {
                return unread.map_or(Ok(rekeyed), |error| Err(RekeyError::Store(error)));
            }
        }
        let current = self.keys.keyring(None).await?.current().to_string();
        Err(RekeyError::OthersGoOn { current })
    }

    /// Looks through all documents once. `unread` becomes what the first one says that can't be read.
    async fn pass(
        &self,
        rekeyed: &mut Rekeyed,
        unread: &mut Option<Error>,
        progress: &mut (impl FnMut(&Rekeyed) + Send),
    ) -> Result<Found, Error> {
        let mut found = Found::CurrentAlone;
        let mut pages = pin!(self.inner.pages(Prefix::everything(), PageRequest::default()));
        while let Some(entries) = pages.try_next().await? {
            for entry in entries {
                rekeyed.documents += 1;
                if let Err(error) = entry.document.text() {
                    unread.get_or_insert(error);
                    continue;
                }
                if let Found::Earlier { resealed } = self.reseal(entry).await? {
                    rekeyed.resealed += usize::from(resealed);
                    found = Found::Earlier { resealed };
                }
            }
            progress(rekeyed);
        }
        Ok(found)
    }

    async fn reseal(&self, kept: Entry) -> Result<Found, Error> {
        let used = seal::keys_of(&kept.path, &kept.document)?;
        let keyring = self.keys.keyring(None).await?;
        if used.iter().all(|id| id == keyring.current()) {
            return Ok(Found::CurrentAlone);
        }
        let (path, version) = (kept.path.clone(), kept.version);
        let Entry { document, .. } = super::open(&*self.keys, kept).await?;
        match self.write_one(Write::Update { path, version, document }).await {
            Ok(_) => Ok(Found::Earlier { resealed: true }),
            // Somebody else wrote it: the next pass sees with which key.
            Err(Error::Conflict { .. }) => Ok(Found::Earlier { resealed: false }),
            Err(error) => Err(error),
        }
    }
}

/// What secrets are sealed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    CurrentAlone,
    Earlier { resealed: bool },
}
