//! Secret fields as ciphertext, and documents with a MAC, over any other store.
//!
//! On the way down each object `{"$secret": "text"}`, wherever it is in a document, becomes
//! `{"$sealed": {"key": …, "nonce": …, "data": …}}` (ChaCha20-Poly1305, a fresh random nonce each time); on the way up
//! it comes back. All else of a document stays readable, to the letter. A sealed value belongs to its place, the path
//! of the document and the JSON pointer in it: moved elsewhere it can't be opened.
//!
//! Each document, with or without secrets, gets a MAC (HMAC-SHA-256) over its path and its content as it is kept:
//! `"$mac": {"key": …, "tag": …}`. Any key of the keyring verifies it. A document that was changed, moved to another path or
//! written without the keys is there as one that can't be read, and so is one whose secrets can't be opened or stand there in
//! clear. All other documents are read as ever.
//!
//! The store below is held to what it is asked: a document of another path is no answer to a read, whether or not its MAC is valid, and
//! neither is a page with documents of another prefix, out of order or twice. A watch that shows another path is lost.
//!
//! A MAC does not cover *when* a document was written: a client that writes below the wrapper can put an *earlier* content of
//! the same path back, copy a document from the same path of another store with the same keys, or delete one.
//!
//! A sealed secret is a third longer than the clear one and some 100 bytes more; the limit of a document's size counts
//! the sealed form, and not the MAC. Random nonces of one key are good for some 2^32 sealed values; take a new key before that.

mod asked;
mod keyring;
mod mac;
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
use futures::{StreamExt, stream};

use asked::Asked;
use mac::Unverified;

pub use keyring::{InvalidKeyId, KEY_BYTES, KeyId, Keyring, KeyringError};
pub use rekeying::{RekeyError, Rekeyed};
pub use source::{KeyFile, KeyringSource};
pub use witness::{KeysError, ROOM, is_sealed};

/// A store that keeps secrets as ciphertext, and each document with a MAC, in another store. Documents that were written to the
/// other store without it can't be read.
pub struct EncryptedStore<S: ?Sized> {
    keys: Arc<dyn KeyringSource>,
    inner: Asked<S>,
}

impl<S: Store + ?Sized> EncryptedStore<S> {
    /// Seals and signs with the keyring's current key, and opens and verifies with any of its keys, what `inner` keeps.
    #[must_use]
    pub fn new(inner: Arc<S>, keyring: Keyring) -> Self {
        Self::with_keys(inner, Arc::new(Arc::new(keyring)))
    }

    /// The same with keys that may change while it runs.
    #[must_use]
    pub fn with_keys(inner: Arc<S>, keys: Arc<dyn KeyringSource>) -> Self {
        Self { inner: Asked(inner), keys }
    }

    /// Verifies what the other store gave, and opens its secrets: for a caller that reads that store directly.
    ///
    /// # Errors
    /// That of [`Store::get`] for this document.
    pub async fn opened(&self, entry: Entry) -> Result<Entry, Error> {
        Opening::begin(&*self.keys).await?.open(&entry).await
    }

    async fn protect(&self, batch: &[Write]) -> Result<Vec<Write>, Error> {
        if batch.iter().all(|write| write.document().is_none()) {
            return Ok(batch.to_vec());
        }
        let keyring = self.keys.keyring(None).await?;
        batch.iter().map(|write| protect(&keyring, write)).collect()
    }
}

/// The same write, with its secrets sealed and its document signed.
fn protect(keyring: &Keyring, write: &Write) -> Result<Write, Error> {
    let protected = |path: &Path, document: &Document| match document.text() {
        // Refused below, as every store refuses it.
        Err(_) => Ok(document.clone()),
        Ok(_) => mac::sign(keyring, path, &seal::seal(keyring, path, document)?),
    };
    Ok(match write.clone() {
        Write::Create { path, document } => Write::Create { document: protected(&path, &document)?, path },
        Write::Update { path, version, document } => {
            Write::Update { document: protected(&path, &document)?, path, version }
        }
        delete @ Write::Delete { .. } => delete,
    })
}

/// One document, with the keys as they are now.
async fn show(keys: &dyn KeyringSource, entry: &Entry) -> Result<Entry, Error> {
    Opening::begin(keys).await?.show(entry).await
}

/// Opens documents with the keys as they are now. Keys that are missing are looked for once more.
struct Opening<'k> {
    keys: &'k dyn KeyringSource,
    keyring: Arc<Keyring>,
}

impl<'k> Opening<'k> {
    /// # Errors
    /// When the keys can't be had now.
    async fn begin(keys: &'k dyn KeyringSource) -> Result<Self, Error> {
        Ok(Self { keys, keyring: keys.keyring(None).await? })
    }

    async fn find(&mut self, ids: impl IntoIterator<Item = &KeyId>) -> Result<(), Error> {
        if let Some(missing) = ids.into_iter().find(|id| !self.keyring.has(id)) {
            self.keyring = self.keys.keyring(Some(missing)).await?;
        }
        Ok(())
    }

    /// The document in clear. Nothing of it is looked at before its MAC is verified.
    async fn open(&mut self, entry: &Entry) -> Result<Entry, Error> {
        let Entry { path, version, document } = entry;
        let unverified = Unverified::read(path, document)?;
        self.find([&unverified.key]).await?;
        let sealed = unverified.verify(&self.keyring)?;
        seal::refuse_clear(path, &sealed)?;
        self.find(&seal::keys_of(path, &sealed)?).await?;
        let document = seal::open(&self.keyring, path, &sealed)?;
        Ok(Entry { path: path.clone(), version: *version, document })
    }

    /// The document in clear, or one that gives the reason why it can't be read.
    ///
    /// # Errors
    /// When the keys can't be had now.
    async fn show(&mut self, entry: &Entry) -> Result<Entry, Error> {
        match self.open(entry).await {
            Err(error) if !error.is_retryable() => {
                Ok(Entry { document: Document::unreadable(error), ..entry.clone() })
            }
            opened => opened,
        }
    }
}

#[async_trait]
impl<S: Store + ?Sized> Store for EncryptedStore<S> {
    fn capabilities(&self) -> Capabilities {
        Capabilities { holds_secrets: true, ..self.inner.capabilities() }
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        match self.inner.get(path).await? {
            Some(entry) => show(&*self.keys, &entry).await.map(Some),
            None => Ok(None),
        }
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        let Page { mut entries, next } = self.inner.list(prefix, page).await?;
        let mut opening = Opening::begin(&*self.keys).await?;
        for entry in &mut entries {
            *entry = opening.show(entry).await?;
        }
        Ok(Page { entries, next })
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        let protected = self.protect(batch).await;
        self.inner.write(&protected.map_err(|source| BatchError { applied: 0, source })?).await
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
                    Change::Put(entry) => show(&*keys, &entry).await.map_or(Change::Lost, Change::Put),
                    other => other,
                };
                let following = if change == Change::Lost { None } else { Some(inner) };
                Some((change, following))
            }
        });
        Ok(until_lost.boxed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_secret_in_clear_is_refused_also_where_the_mac_holds() {
        let keyring = Arc::new(Keyring::new("k1".parse().unwrap(), &[7; KEY_BYTES]));
        let path = Path::new("clusters/a").unwrap();
        let open = async |text: &str| {
            let document = mac::sign(&keyring, &path, &Document::from_stored(text)).unwrap();
            let entry = Entry { path: path.clone(), version: Version(1), document };
            show(&keyring, &entry).await.unwrap().document
        };
        assert_eq!(open(r#"{"kubeconfig":"$secret"}"#).await.as_str(), r#"{"kubeconfig":"$secret"}"#);
        for text in
            [r#"{"kubeconfig":{"$secret":"hunter2"}}"#, r#"{"kubeconfig":{"\u0024secret":"hunter2"}}"#]
        {
            let error = open(text).await.text().unwrap_err().to_string();
            for part in ["\"/kubeconfig\"", "clusters/a", "in clear"] {
                assert!(error.contains(part) && !error.contains("hunter2"), "{error}");
            }
        }
    }
}
