//! The MAC of one document: proof that a client with the keys wrote it, and wrote it to this path.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use dcm_core::port::store::{Document, Error, Path};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::keyring::{KEY_BYTES, KeyId, Keyring};
use crate::signed::{self, Signed};

/// What the signing key is derived from a key of the keyring with, so that it is none of its other uses.
const DERIVATION: &[u8] = b"dcm signing key 1";

/// What a MAC is over begins with this, so that no other use of the signing key is taken for one.
const PURPOSE: &str = "dcm document 1";

/// Computes MACs. A copy begins a new one.
pub(super) type SigningKey = Hmac<Sha256>;

/// The signing key of a key of the keyring.
pub(super) fn signing_key(key: &[u8; KEY_BYTES]) -> SigningKey {
    let derivation = keyed(key).chain_update(DERIVATION);
    keyed(&derivation.finalize().into_bytes().into())
}

fn keyed(key: &[u8; KEY_BYTES]) -> SigningKey {
    // HMAC takes keys of any length.
    Hmac::new_from_slice(key).unwrap_or_else(|_| unreachable!("a key of {KEY_BYTES} bytes"))
}

/// A document as it is kept, whose MAC has not been compared yet.
pub(super) struct Unverified<'t> {
    path: &'t Path,
    signed: Signed<'t>,
    /// The key of the MAC.
    pub(super) key: KeyId,
}

impl<'t> Unverified<'t> {
    /// Finds the MAC of a document.
    ///
    /// # Errors
    /// Why the document can't be read; [`Error::Failed`] when it has no MAC.
    pub(super) fn read(path: &'t Path, document: &'t Document) -> Result<Self, Error> {
        let parsed =
            Signed::parse(document.text()?).and_then(|signed| Some((signed.key.parse().ok()?, signed)));
        let Some((key, signed)) = parsed else {
            return Err(failed(format!(
                "{path} has no MAC, so it was not written with the keys of this store: restore it from a backup"
            )));
        };
        Ok(Self { path, signed, key })
    }

    /// The document without its MAC, which is not verified yet: only for decisions that a client without the keys may make.
    pub(super) fn content(&self) -> Document {
        Document::from_stored(self.signed.content().concat())
    }

    /// The document without its MAC, which is the one of this content at this path.
    ///
    /// # Errors
    /// [`Error::Failed`] when it is another one, or the key is missing.
    pub(super) fn verify(&self, keyring: &Keyring) -> Result<Document, Error> {
        let Self { path, signed, key } = self;
        let id = key.to_string();
        let missing = || failed(format!("the MAC of {path} can't be verified: there is no key {id:?}"));
        let signing = keyring.signing_key(key).ok_or_else(missing)?;
        let tag = BASE64.decode(signed.tag).unwrap_or_default();
        let mac = signed.content().iter().fold(begun(signing, path), SigningKey::chain_update);
        match mac.verify_slice(&tag) {
            Ok(()) => Ok(self.content()),
            Err(_) => Err(failed(format!(
                "the MAC of {path} by key {id:?} does not match: the document was changed, or moved to this path, without \
                 this key: restore it from a backup"
            ))),
        }
    }
}

/// True for a document with a MAC, whether it is the right one or not.
pub(super) fn is_signed(document: &Document) -> bool {
    Signed::parse(document.as_str()).is_some()
}

/// The document with a MAC by the current key.
pub(super) fn sign(keyring: &Keyring, path: &Path, document: &Document) -> Result<Document, Error> {
    let id = keyring.current();
    let signing = keyring.signing_key(id).ok_or_else(|| failed("the current key is missing".to_owned()))?;
    let content = document.as_str();
    let tag = begun(signing, path).chain_update(content).finalize().into_bytes();
    Ok(Document::from_stored(signed::join(content, id.as_str(), &BASE64.encode(tag))))
}

/// A MAC of all but the content. A path has no control characters: where it ends is clear.
fn begun(signing: &SigningKey, path: &Path) -> SigningKey {
    signing.clone().chain_update(PURPOSE).chain_update("\n").chain_update(path.as_str()).chain_update("\n")
}

fn failed(reason: String) -> Error {
    Error::Failed { reason, source: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Path {
        Path::new(text).unwrap()
    }

    fn verified(keyring: &Keyring, path: &Path, document: &Document) -> Result<Document, Error> {
        Unverified::read(path, document)?.verify(keyring)
    }

    /// So that the next version reads what this one wrote.
    #[test]
    fn a_mac_is_that_of_the_documented_form() {
        let keyring = Keyring::new("k1".parse().unwrap(), &[7; KEY_BYTES]);
        let document = Document::from_stored(r#"{"a":1}"#);
        let signed = sign(&keyring, &path("p/a"), &document).unwrap();
        let hmac = |key: &[u8], text: &[u8]| -> [u8; 32] {
            let mac = Hmac::<Sha256>::new_from_slice(key).unwrap().chain_update(text);
            mac.finalize().into_bytes().into()
        };
        let key = hmac(&[7; KEY_BYTES], b"dcm signing key 1");
        let tag = BASE64.encode(hmac(&key, b"dcm document 1\np/a\n{\"a\":1}"));
        assert_eq!(signed.as_str(), format!(r#"{{"a":1,"$mac":{{"key":"k1","tag":"{tag}"}}}}"#));
        assert_eq!(verified(&keyring, &path("p/a"), &signed).unwrap(), document);
    }

    #[test]
    fn a_mac_holds_at_its_path_for_its_content_by_its_key_alone() {
        let keyring = Keyring::new("k1".parse().unwrap(), &[7; KEY_BYTES]);
        let signed = sign(&keyring, &path("p/a"), &Document::from_stored(r#"{"a":1}"#)).unwrap();
        let reason = |keyring: &Keyring, at: &str, text: &str| {
            let error = verified(keyring, &path(at), &Document::from_stored(text)).unwrap_err();
            assert!(matches!(error, Error::Failed { .. }) && error.to_string().contains(at), "{error}");
            error.to_string()
        };
        let text = signed.as_str();
        assert!(reason(&keyring, "p/b", text).contains("does not match"));
        assert!(reason(&keyring, "p/a", &text.replace("{\"a\":1", "{\"a\":2")).contains("does not match"));
        assert!(
            reason(&keyring, "p/a", &text.replace("\"tag\":\"", "\"tag\":\"A")).contains("does not match")
        );
        assert!(
            reason(&keyring, "p/a", &text.replace("\"k1\"", "\"k9\"")).contains("there is no key \"k9\"")
        );
        assert!(reason(&keyring, "p/a", &text.replace("$mac", "$mic")).contains("has no MAC"));
        let other = Keyring::new("k1".parse().unwrap(), &[8; KEY_BYTES]);
        assert!(reason(&other, "p/a", text).contains("does not match"));
    }
}
