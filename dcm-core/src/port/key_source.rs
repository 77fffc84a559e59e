//! Private keys and the certificate requests made with them.

use std::error::Error as StdError;

use serde::{Deserialize, Serialize};

use crate::secret::Secret;
use crate::subject::Subject;

/// Makes private keys for users. `pki::SystemKeys` is the one of this crate; a hardware module or a vault may be
/// another.
///
/// # Contract
/// - Each call makes a new key; no key is handed out twice, and none is kept.
/// - The request is signed by the key and has exactly the subject that was asked for, and no extensions: it passes
///   `pki::check_request`.
pub trait KeySource: Send + Sync + 'static {
    /// Makes a key of a type and the request for a certificate of its public half.
    ///
    /// # Errors
    /// [`Error`] when no key could be made, or none could sign.
    fn issue_of(&self, key: KeyType, subject: &Subject) -> Result<KeyAndRequest, Error>;

    /// The same with a key of the default type.
    ///
    /// # Errors
    /// [`Error`] when no key could be made, or none could sign.
    fn issue(&self, subject: &Subject) -> Result<KeyAndRequest, Error> {
        self.issue_of(KeyType::default(), subject)
    }
}

/// The type of a private key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum KeyType {
    /// ECDSA on the curve P-256: short, quick to make, and known to every TLS client.
    #[default]
    #[serde(rename = "ecdsa-p256")]
    EcdsaP256,
    /// RSA of 2048 bits, for clients that know nothing else.
    #[serde(rename = "rsa-2048")]
    Rsa2048,
    /// RSA of 3072 bits.
    #[serde(rename = "rsa-3072")]
    Rsa3072,
    /// RSA of 4096 bits: making one takes seconds.
    #[serde(rename = "rsa-4096")]
    Rsa4096,
}

impl KeyType {
    /// All types, as documents spell them.
    pub const ALL: [Self; 4] = [Self::EcdsaP256, Self::Rsa2048, Self::Rsa3072, Self::Rsa4096];

    /// The type as documents spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EcdsaP256 => "ecdsa-p256",
            Self::Rsa2048 => "rsa-2048",
            Self::Rsa3072 => "rsa-3072",
            Self::Rsa4096 => "rsa-4096",
        }
    }

    /// The type that is spelled so.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == name)
    }
}

/// A private key and the request made with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyAndRequest {
    /// The private key, as PKCS #8 in PEM (`PRIVATE KEY`).
    pub key: Secret,
    /// The certificate request, as PKCS #10 in PEM (`CERTIFICATE REQUEST`).
    pub request: String,
}

/// Why there is no key or no request.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The source of keys or of randomness didn't give one.
    #[error("no private key could be made")]
    Key(#[source] Box<dyn StdError + Send + Sync>),
    /// There is a key, but no request could be made with it.
    #[error("the certificate request could not be made")]
    Request(#[source] Box<dyn StdError + Send + Sync>),
}

impl Error {
    /// True when the same call may succeed later: a source of keys may come back, an unusable request stays so.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Key(_))
    }
}
