//! Secret fields as ciphertext, over any other store.
//!
//! On the way down each object `{"$secret": "text"}`, wherever it is in a document, becomes
//! `{"$sealed": {"key": …, "nonce": …, "data": …}}` (ChaCha20-Poly1305, a fresh random nonce each time); on the way up
//! it comes back. All else of a document stays readable, to the letter. A sealed value belongs to its place, the path
//! of the document and the JSON pointer in it: moved elsewhere it can't be opened. It is not bound to the version: who
//! can write below can put an *earlier* value of the same place back.
//!
//! A sealed secret is a third longer than the clear one and some 100 bytes more; the limit of a document's size counts
//! the sealed form. Random nonces of one key are good for some 2^32 sealed values; take a new key before that.

mod keyring;
mod seal;

use std::sync::Arc;

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Change, Document, Entry, Error, Page, PageRequest, Path, Prefix, Store,
    Version, Watch, Write,
};
use futures::{StreamExt, stream};

pub use keyring::{InvalidKeyId, KEY_BYTES, KeyId, Keyring, KeyringError};

/// A store that keeps secrets as ciphertext in another store. Documents that were written to the other store without
/// it are read as they are.
pub struct EncryptedStore<S: ?Sized> {
    keyring: Arc<Keyring>,
    inner: Arc<S>,
}

impl<S: Store + ?Sized> EncryptedStore<S> {
    /// Seals with the keyring's current key, and opens with any of its keys, what `inner` keeps.
    #[must_use]
    pub fn new(inner: Arc<S>, keyring: Keyring) -> Self {
        Self { inner, keyring: Arc::new(keyring) }
    }

    fn seal(&self, write: &Write) -> Result<Write, Error> {
        let sealed = |path: &Path, document: &Document| seal::seal(&self.keyring, path, document);
        Ok(match write.clone() {
            Write::Create { path, document } => Write::Create { document: sealed(&path, &document)?, path },
            Write::Update { path, version, document } => {
                Write::Update { document: sealed(&path, &document)?, path, version }
            }
            delete @ Write::Delete { .. } => delete,
        })
    }
}

fn open(keyring: &Keyring, entry: Entry) -> Result<Entry, Error> {
    Ok(Entry { document: seal::open(keyring, &entry.path, &entry.document)?, ..entry })
}

#[async_trait]
impl<S: Store + ?Sized> Store for EncryptedStore<S> {
    fn capabilities(&self) -> Capabilities {
        Capabilities { holds_secrets: true, ..self.inner.capabilities() }
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        self.inner.get(path).await?.map(|entry| open(&self.keyring, entry)).transpose()
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        let page = self.inner.list(prefix, page).await?;
        let entries =
            page.entries.into_iter().map(|entry| open(&self.keyring, entry)).collect::<Result<_, _>>()?;
        Ok(Page { entries, next: page.next })
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        let sealed: Result<Vec<Write>, Error> = batch.iter().map(|write| self.seal(write)).collect();
        self.inner.write(&sealed.map_err(|source| BatchError { applied: 0, source })?).await
    }

    /// Ends with [`Change::Lost`] at a document that can't be opened: listing again says why.
    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        let keyring = self.keyring.clone();
        let inner = self.inner.watch(prefix).await?;
        let until_lost = stream::unfold(Some(inner), move |following| {
            let keyring = keyring.clone();
            async move {
                let mut inner = following?;
                let change = match inner.next().await? {
                    Change::Put(entry) => open(&keyring, entry).map_or(Change::Lost, Change::Put),
                    other => other,
                };
                let following = if change == Change::Lost { None } else { Some(inner) };
                Some((change, following))
            }
        });
        Ok(until_lost.boxed())
    }
}
