//! Certificates of the other side that are not supported, found in errors.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::iter;
use std::sync::Arc;

use dcm_core::pki::{Unsupported, subject_name, unsupported_key, unsupported_signature, unsupported_signer};
use rustls::pki_types::{CertificateDer, TrustAnchor};
use rustls::{CertificateError, Error, OtherError};

/// Which side of a connection shows a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// A client.
    Client,
    /// A server.
    Server,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "client",
            Self::Server => "server",
        })
    }
}

/// Why a certificate can't be verified.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Its key or its signature is not supported.
    #[error(transparent)]
    Unsupported(Unsupported),
    /// The authority that is trusted has the name of the one that signed it, and another key.
    #[error("it is signed by another authority than the trusted one of that name")]
    OtherAuthority,
}

/// The certificate of the other side, or an authority above it, can't be verified. The same certificate is refused again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerRefused {
    /// The other side.
    pub peer: Peer,
    /// The name of the authority above its certificate that is at fault; none where the certificate itself is.
    pub authority: Option<String>,
    /// Why.
    pub reason: Reason,
}

impl fmt::Display for PeerRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {}'s certificate can't be verified: ", self.peer)?;
        if let Some(authority) = &self.authority {
            write!(f, "the authority {authority} above it: ")?;
        }
        self.reason.fmt(f)
    }
}

impl StdError for PeerRefused {}

impl From<PeerRefused> for Error {
    fn from(refused: PeerRefused) -> Self {
        Self::Other(OtherError(Arc::new(refused)))
    }
}

impl PeerRefused {
    pub(crate) fn own(peer: Peer, reason: Reason) -> Self {
        Self { peer, authority: None, reason }
    }
}

/// Finds, in an error of a client or in its causes, why the server's certificate is not supported.
#[must_use]
pub fn refused(error: &(dyn StdError + 'static)) -> Option<PeerRefused> {
    iter::successors(Some(error), |error| below(*error)).find_map(|cause| match cause.downcast_ref()? {
        Error::Other(OtherError(other)) => other.downcast_ref::<PeerRefused>().cloned(),
        Error::InvalidCertificate(error) => Some(PeerRefused::own(Peer::Server, of_algorithms(error)?)),
        _ => None,
    })
}

/// The cause of an error. What an input-output error holds, which may be another one, is none of its sources.
fn below<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    match error.downcast_ref::<io::Error>() {
        Some(error) => error.get_ref().map(|held| held as &(dyn StdError + 'static)),
        None => error.source(),
    }
}

/// Puts the name of an unsupported key or signature into the error of a verification. The chain begins with the certificate of the other
/// side itself.
pub(crate) fn explain(
    peer: Peer,
    error: Error,
    chain: &[&CertificateDer<'_>],
    roots: &[TrustAnchor<'_>],
) -> Error {
    let Error::InvalidCertificate(cause) = &error else { return error };
    let of_error = of_algorithms(cause);
    // A signature by an RSA key that is too short counts as a broken one.
    if of_error.is_none() && *cause != CertificateError::BadSignature {
        return error;
    }
    let in_chain = chain.iter().enumerate().find_map(|(place, certificate)| {
        let (name, is_own_issuer) = subject_name(certificate)?;
        let reason = Reason::Unsupported(fault(certificate, is_own_issuer, roots)?);
        Some(PeerRefused { peer, authority: (place > 0).then_some(name), reason })
    });
    let refused = in_chain.or_else(|| Some(PeerRefused::own(peer, of_error?)));
    refused.map_or(error, Into::into)
}

fn fault(
    certificate: &CertificateDer<'_>,
    is_own_issuer: bool,
    roots: &[TrustAnchor<'_>],
) -> Option<Unsupported> {
    let by_root = |root: &TrustAnchor<'_>| {
        unsupported_signer(certificate, &root.subject, &root.subject_public_key_info)
    };
    let own_key = unsupported_key(certificate);
    // The signature of an authority by itself is not verified.
    if is_own_issuer {
        return own_key;
    }
    own_key.or_else(|| unsupported_signature(certificate)).or_else(|| roots.iter().find_map(by_root))
}

fn of_algorithms(error: &CertificateError) -> Option<Reason> {
    match error {
        CertificateError::UnsupportedSignatureAlgorithmContext { signature_algorithm_id, .. } => {
            Unsupported::of_identifiers(signature_algorithm_id, None).map(Reason::Unsupported)
        }
        CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext {
            signature_algorithm_id,
            public_key_algorithm_id,
        } => {
            let unsupported =
                Unsupported::of_identifiers(signature_algorithm_id, Some(public_key_algorithm_id));
            Some(unsupported.map_or(Reason::OtherAuthority, Reason::Unsupported))
        }
        _ => None,
    }
}
