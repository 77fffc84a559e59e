//! Certificate signing requests as texts.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::refusal::Rule;
use crate::subject::{REQUEST_LABEL, request_block};

use super::limits::CSR_PEM_BYTES_MAX;

/// The text of a certificate signing request: one PEM block of that type, and nothing beside it. Only this frame
/// was checked; what it says is read where keys are dealt with.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RequestPem(Arc<str>);

/// Why a text is no certificate signing request. It never shows the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRequestPem {
    /// It holds a private key.
    #[error(
        "holds a private key: consider it lost, make a new one, and send the certificate signing request alone"
    )]
    PrivateKey,
    /// It is longer than [`CSR_PEM_BYTES_MAX`].
    #[error("must be at most {CSR_PEM_BYTES_MAX} bytes long")]
    TooLong,
    /// It is something else.
    #[error(
        "must be one PEM block of type {REQUEST_LABEL}, with no other block before it and nothing after it"
    )]
    Form,
}

impl Rule for InvalidRequestPem {
    fn rule(&self) -> String {
        self.to_string()
    }
}

impl RequestPem {
    /// Takes a text; other text before the block, and white space around it, is dropped.
    ///
    /// # Errors
    /// [`InvalidRequestPem`] when it is too long, has a private key, or is not one block of the right type.
    pub fn new(text: &str) -> Result<Self, InvalidRequestPem> {
        let text = text.trim();
        if text.contains("PRIVATE KEY") {
            Err(InvalidRequestPem::PrivateKey)
        } else if text.len() > CSR_PEM_BYTES_MAX {
            Err(InvalidRequestPem::TooLong)
        } else {
            let block = request_block(text).ok_or(InvalidRequestPem::Form)?;
            Ok(Self(format!("{block}\n").into()))
        }
    }

    /// The PEM text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The PEM text, shared.
    #[must_use]
    pub fn text(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

impl fmt::Debug for RequestPem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestPem({} bytes)", self.0.len())
    }
}

impl TryFrom<String> for RequestPem {
    type Error = InvalidRequestPem;

    fn try_from(text: String) -> Result<Self, InvalidRequestPem> {
        Self::new(&text)
    }
}

impl From<RequestPem> for String {
    fn from(request: RequestPem) -> Self {
        request.as_str().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_before_the_block_is_dropped() {
        let block = "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n";
        for before in ["", " \n", "Certificate Request:\n    Data:\n", "Bag Attributes\r\n"] {
            assert_eq!(RequestPem::new(&format!("{before}{block}")).unwrap().as_str(), block, "{before:?}");
        }
        for text in [format!("x{block}"), format!("{block}x"), format!("{block}{block}")] {
            assert_eq!(RequestPem::new(&text), Err(InvalidRequestPem::Form), "{text:?}");
        }
    }

    #[test]
    fn only_the_type_that_kubernetes_takes_is_accepted() {
        let of =
            |label: &str| RequestPem::new(&format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----"));
        assert!(of("CERTIFICATE REQUEST").is_ok());
        for other in ["NEW CERTIFICATE REQUEST", "CERTIFICATE"] {
            assert_eq!(of(other), Err(InvalidRequestPem::Form), "{other}");
        }
    }
}
