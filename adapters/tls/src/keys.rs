//! Private keys, and certificates with them.

use dcm_core::pki::{KEYS, Unsupported, unsupported_key};
use rustls::Error;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

/// Why a text has no private key that can be used. It never shows the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// It needs a passphrase.
    #[error("must not be encrypted; write it without its passphrase: openssl pkey -in KEY -out PLAIN-KEY")]
    Encrypted,
    /// It is a block of another kind.
    #[error(
        "must be in PKCS #8, PKCS #1 or SEC 1, and is a PEM block {label}, which is not supported; use {KEYS}"
    )]
    Label {
        /// The kind of block.
        label: &'static str,
    },
    /// It has no key.
    #[error("must be a private key in PEM")]
    Missing,
}

/// Kinds of PEM blocks with keys for something else.
const OTHER_LABELS: [&str; 3] = ["DSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "ED25519 PRIVATE KEY"];

/// Reads the first private key of a PEM text, as PKCS #8, PKCS #1 or SEC 1. Other text and other blocks before it are passed over.
///
/// # Errors
/// [`KeyError`].
pub fn private_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, KeyError> {
    PrivateKeyDer::from_pem_slice(pem).map_err(|_| {
        let text = String::from_utf8_lossy(pem);
        if text.contains("ENCRYPTED") {
            return KeyError::Encrypted;
        }
        let label = OTHER_LABELS.into_iter().find(|label| text.contains(&format!("-----BEGIN {label}-----")));
        label.map_or(KeyError::Missing, |label| KeyError::Label { label })
    })
}

/// Why a certificate and a key can't be used together.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// The key is not the one of the certificate.
    #[error("the key is not that of the certificate")]
    Mismatch,
    /// The certificate's key is not supported.
    #[error("the certificate can't be used: {0}")]
    Unsupported(Unsupported),
    /// The key can't be read, or is of another kind than the certificate's.
    #[error("the key can't be used for TLS: it is damaged, or is none of {KEYS}")]
    Key(#[source] Error),
    /// The certificate can't be read.
    #[error("the certificate can't be read")]
    Certificate(#[source] Error),
}

/// Puts a certificate, with its chain, and its key together.
///
/// # Errors
/// [`PairError`].
pub fn pair(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<CertifiedKey, PairError> {
    let unsupported = chain.first().and_then(|own| unsupported_key(own));
    CertifiedKey::from_der(chain, key, &crate::provider()).map_err(|error| match (error, unsupported) {
        (_, Some(unsupported)) => PairError::Unsupported(unsupported),
        (Error::InconsistentKeys(_), None) => PairError::Mismatch,
        (error @ (Error::InvalidCertificate(_) | Error::NoCertificatesPresented), None) => {
            PairError::Certificate(error)
        }
        (error, None) => PairError::Key(error),
    })
}
