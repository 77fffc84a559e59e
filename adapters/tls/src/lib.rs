//! TLS as every part of `dcm` speaks it.
//!
//! - [`provider()`] returns the one provider of cryptography, `aws-lc-rs`. It verifies all that Go's `crypto/tls` and `crypto/x509` verify,
//!   except weak algorithms (RSA below 2048 bits, P-224, SHA-1). So a server or a client that works with Kubernetes works here.
//! - [`server_verifier`] and [`client_verifier`] check the certificates of servers and clients. [`refused()`] finds, in the error of a
//!   connection, the name of the algorithm that is not supported. rustls alone reports a broken signature, or a list of numbers.
//! - [`private_key`] and [`pair`] read keys, and name the kind of a key that can't be used.

mod keys;
mod refused;
#[cfg(test)]
mod tests;
mod verifier;

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};

pub use keys::{KeyError, PairError, pair, private_key};
pub use refused::{Peer, PeerRefused, Reason, refused};
pub use verifier::{VerifierBuilderError, client_verifier, server_verifier};

/// Returns the provider of cryptography.
#[must_use]
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// Compiles the code in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
