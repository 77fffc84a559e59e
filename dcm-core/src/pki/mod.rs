//! Keys, certificate requests and checks of the certificates that clusters hand out.
//!
//! - [`SystemKeys`] makes keys and requests for users who have none of their own.
//! - [`check_request`] checks the request that a user brings, before any cluster sees it.
//! - [`check_certificate`] checks what a cluster handed out, before anybody uses it.
//! - [`authorities_not_after`] reads when the trust in a cluster's authorities ends.
//! - [`unsupported_key`], [`unsupported_signature`] and [`unsupported_signer`] name the algorithm of a certificate that is not supported.
//!
//! Nothing here parses a private key ([`crate::authority`] does), and nothing reads the time: it is an argument. A request with requested
//! extensions or any other attribute is refused, whatever it asks for: how a certificate may be used is what we ask
//! the cluster for, so an extension could only repeat it or change it (the signer of Kubernetes takes over requested
//! alternative names).

pub(crate) mod algorithm;
mod algorithm_names;
mod certificate;
pub(crate) mod distinguished_name;
mod keys;
pub(crate) mod renewal;
mod request;
#[cfg(test)]
mod tests;
pub(crate) mod x509;

pub use crate::subject::REQUEST_BYTES_MAX;
pub use algorithm::{
    KEYS, SIGNATURES, Unsupported, subject_name, unsupported_key, unsupported_signature, unsupported_signer,
};
pub use certificate::{
    CERTIFICATES_BYTES_MAX, CLOCK_SKEW_SECONDS_MAX, CertificateFacts, CertificateRefused, Expected,
    authorities_not_after, check_certificate,
};
pub use keys::SystemKeys;
pub use request::{RequestRefused, check_request};
