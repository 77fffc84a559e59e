//! Secret fields as ciphertext, over any other store.
//!
//! On the way down each object `{"$secret": "text"}`, wherever it is in a document, becomes
//! `{"$sealed": {"key": …, "nonce": …, "data": …}}` (ChaCha20-Poly1305, a fresh random nonce each time); on the way up
//! it comes back. All else of a document stays readable, to the letter. A sealed value belongs to its place, the path
//! of the document and the JSON pointer in it: moved elsewhere it can't be opened. It is not bound to the version: who
//! can write below can put an *earlier* value of the same place back. A document whose secrets can't be opened is
//! there as one that can't be read.
//!
//! A sealed secret is a third longer than the clear one and some 100 bytes more; the limit of a document's size counts
//! the sealed form. Random nonces of one key are good for some 2^32 sealed values; take a new key before that.

mod keyring;
mod rekeying;
mod seal;
mod source;
mod witness;

use std::sync::Arc;

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Change, Document, Entry, Error, Page, PageRequest, Path, Prefix, Store,
    Version, Watch, Write,
};
use futures::{StreamExt, TryStreamExt, stream};

pub use keyring::{InvalidKeyId, KEY_BYTES, KeyId, Keyring, KeyringError};
pub use rekeying::{RekeyError, Rekeyed};
pub use source::{KeyFile, KeyringSource};
pub use witness::{KeysError, ROOM, is_sealed};

/// A store that keeps secrets as ciphertext in another store. Documents that were written to the other store without
/// it are read as they are.
pub struct EncryptedStore<S: ?Sized> {
    keys: Arc<dyn KeyringSource>,
    inner: Arc<S>,
}

impl<S: Store + ?Sized> EncryptedStore<S> {
    /// Seals with the keyring's current key, and opens with any of its keys, what `inner` keeps.
    #[must_use]
    pub fn new(inner: Arc<S>, keyring: Keyring) -> Self {
        Self::with_keys(inner, Arc::new(Arc::new(keyring)))
    }

    /// The same with keys that may change while it runs.
    #[must_use]
    pub fn with_keys(inner: Arc<S>, keys: Arc<dyn KeyringSource>) -> Self {
        Self { inner, keys }
    }

    /// What the other store gave, with its secrets in clear: for whoever reads that store by himself.
    ///
    /// # Errors
    /// That of [`Store::get`] for this document.
    pub async fn opened(&self, entry: Entry) -> Result<Entry, Error> {
        open(&*self.keys, entry).await
    }

    async fn seal(&self, write: &Write) -> Result<Write, Error> {
        let Some(document) = write.document().filter(|document| seal::may_have_secrets(document)) else {
            return Ok(write.clone());
        };
        let keyring = self.keys.keyring(None).await?;
        let document = seal::seal(&keyring, write.path(), document)?;
        Ok(match write.clone() {
            Write::Create { path, .. } => Write::Create { path, document },
            Write::Update { path, version, .. } => Write::Update { path, version, document },
            delete @ Write::Delete { .. } => delete,
        })
    }
}

async fn open(keys: &dyn KeyringSource, entry: Entry) -> Result<Entry, Error> {
    let used = seal::keys_of(&entry.path, &entry.document)?;
    if used.is_empty() {
        return Ok(entry);
    }
    let mut keyring = keys.keyring(None).await?;
    if let Some(missing) = used.iter().find(|id| keyring.key(id).is_none()) {
        keyring = keys.keyring(Some(missing)).await?;
    }
    Ok(Entry { document: seal::open(&keyring, &entry.path, &entry.document)?, ..entry })
}

/// The document in clear, or what says why it can't be read.
///
/// # Errors
/// When the keys can't be had now.
async fn show(keys: &dyn KeyringSource, entry: Entry) -> Result<Entry, Error> {
    let (path, version) = (entry.path.clone(), entry.version);
    match open(keys, entry).await {
        Err(error) if !error.is_retryable() => {
            Ok(Entry { path, version, document: Document::unreadable(error) })
        }
        opened => opened,
    }
}

#[async_trait]
impl<S: Store + ?Sized> Store for EncryptedStore<S> {
    fn capabilities(&self) -> Capabilities {
        Capabilities { holds_secrets: true, ..self.inner.capabilities() }
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        match self.inner.get(path).await? {
            Some(entry) => show(&*self.keys, entry).await.map(Some),
            None => Ok(None),
        }
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        let Page { entries, next } = self.inner.list(prefix, page).await?;
        let opened = stream::iter(entries).then(|entry| show(&*self.keys, entry));
        Ok(Page { entries: opened.try_collect().await?, next })
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        let sealed = stream::iter(batch).then(|write| self.seal(write)).try_collect::<Vec<Write>>().await;
        self.inner.write(&sealed.map_err(|source| BatchError { applied: 0, source })?).await
    }

    /// Ends with [`Change::Lost`] when the keys can't be had.
    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        let keys = self.keys.clone();
        let inner = self.inner.watch(prefix).await?;
        let until_lost = stream::unfold(Some(inner), move |following| {
            let keys = keys.clone();
            async move {
                let mut inner = following?;
                let change = match inner.next().await? {
                    Change::Put(entry) => show(&*keys, entry).await.map_or(Change::Lost, Change::Put),
                    other => other,
                };
                let following = if change == Change::Lost { None } else { Some(inner) };
                Some((change, following))
            }
        });
        Ok(until_lost.boxed())
    }
}
