//! Private keys and the certificate requests made with them.

use std::error::Error as StdError;

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
    /// Makes a key and the request for a certificate of its public half.
    ///
    /// # Errors
    /// [`Error`] when no key could be made, or none could sign.
    fn issue(&self, subject: &Subject) -> Result<KeyAndRequest, Error>;
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
