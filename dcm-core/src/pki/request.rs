//! The check of a certificate request that a user brings.

use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::oid_registry::{
    OID_EC_P256, OID_NIST_EC_P384, OID_PKCS1_SHA1WITHRSA, OID_SHA1_WITH_RSA, OID_SIG_ED25519,
};
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;
use x509_parser::x509::{AlgorithmIdentifier, SubjectPublicKeyInfo};

use super::distinguished_name;
use crate::subject::{REQUEST_BYTES_MAX, REQUEST_LABEL, Subject};

/// Shortest RSA key that is accepted, in bits (NIST SP 800-131A).
const RSA_BITS_MIN: usize = 2048;
/// Longest RSA key that is accepted, in bits: TLS libraries refuse longer ones.
const RSA_BITS_MAX: usize = 8192;

/// Why a request is refused. The same request is refused again; no retry helps.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestRefused {
    /// It is over [`REQUEST_BYTES_MAX`].
    #[error("the certificate request must be at most 16 KiB")]
    TooLarge,
    /// There is a private key in it.
    #[error(
        "the text holds a private key, which must stay with its user; make a new key and send its certificate request alone"
    )]
    PrivateKey,
    /// It isn't PEM of exactly one request.
    #[error(
        "the certificate request must be one PEM block `CERTIFICATE REQUEST` with nothing before or after it"
    )]
    NotOneBlock,
    /// The block's content isn't a request.
    #[error("the PEM block must hold a PKCS #10 certificate request")]
    NotRequest,
    /// The key is of another kind, or too short.
    #[error(
        "the request's key is {found}; it must be ECDSA P-256 or P-384, Ed25519, or RSA of 2048 to 8192 bits"
    )]
    Key {
        /// What the key is.
        found: String,
    },
    /// The signature is made with SHA-1, which Kubernetes refuses.
    #[error("the request's signature is made with SHA-1; it must be made with SHA-256, SHA-384 or SHA-512")]
    WeakSignature,
    /// The signature isn't one by the request's own key.
    #[error("the request's signature must be made by its own key; the request was changed or cut")]
    Signature,
    /// It asks for more than a subject.
    #[error(
        "the request has the attribute {oid}; it must have none: no extensions, alternative names or password"
    )]
    Attribute {
        /// The attribute's object identifier; `1.2.840.113549.1.9.14` for extensions.
        oid: String,
    },
    /// The subject isn't the one that it must have.
    #[error("the request's subject is {found}; it must be exactly {expected}")]
    Subject {
        /// What the subject must be.
        expected: Subject,
        /// What it is, cut to 200 characters.
        found: String,
    },
}

/// Checks a certificate request that a user brings.
///
/// It must be PEM of one PKCS #10 request, be signed by its own key, have exactly the given subject and no attributes,
/// and its key must be ECDSA P-256 or P-384, Ed25519, or RSA of 2048 to 8192 bits. With OpenSSL:
/// `openssl req -new -key KEY -subj "/O=ORGANIZATION/CN=COMMON NAME"`.
///
/// # Errors
/// [`RequestRefused`]: the first thing that is wrong, and what it must be.
pub fn check_request(request_pem: &str, subject: &Subject) -> Result<(), RequestRefused> {
    with_parsed(request_pem, |request| {
        let information = &request.certification_request_info;
        check_key(&information.subject_pki)?;
        check_signature(request)?;
        if let Some(attribute) = information.iter_attributes().next() {
            return Err(RequestRefused::Attribute { oid: attribute.oid.to_id_string() });
        }
        if !distinguished_name::is_exactly(&information.subject, subject) {
            let found = distinguished_name::shown(&information.subject);
            return Err(RequestRefused::Subject { expected: subject.clone(), found });
        }
        Ok(())
    })
}

/// The public key of a request, as DER of SubjectPublicKeyInfo.
pub(super) fn public_key(request_pem: &str) -> Result<Vec<u8>, RequestRefused> {
    with_parsed(request_pem, |request| Ok(request.certification_request_info.subject_pki.raw.to_vec()))
}

fn with_parsed<T>(
    request_pem: &str,
    use_request: impl FnOnce(&X509CertificationRequest<'_>) -> Result<T, RequestRefused>,
) -> Result<T, RequestRefused> {
    let der = one_block(request_pem)?;
    match X509CertificationRequest::from_der(&der) {
        Ok(([], request)) => use_request(&request),
        Ok(_) | Err(_) => Err(RequestRefused::NotRequest),
    }
}

fn one_block(text: &str) -> Result<Vec<u8>, RequestRefused> {
    if text.len() > REQUEST_BYTES_MAX {
        return Err(RequestRefused::TooLarge);
    }
    if text.contains("PRIVATE KEY-----") {
        return Err(RequestRefused::PrivateKey);
    }
    let text = text.trim();
    let begins_and_ends = text.starts_with(&format!("-----BEGIN {REQUEST_LABEL}-----\n"))
        || text.starts_with(&format!("-----BEGIN {REQUEST_LABEL}-----\r\n"));
    if !begins_and_ends
        || !text.ends_with(&format!("-----END {REQUEST_LABEL}-----"))
        || text.matches("-----BEGIN ").count() > 1
    {
        return Err(RequestRefused::NotOneBlock);
    }
    match Pem::iter_from_buffer(text.as_bytes()).next() {
        Some(Ok(block)) => Ok(block.contents),
        Some(Err(_)) | None => Err(RequestRefused::NotOneBlock),
    }
}

fn check_key(key: &SubjectPublicKeyInfo<'_>) -> Result<(), RequestRefused> {
    let algorithm = &key.algorithm.algorithm;
    let found = match key.parsed() {
        Ok(PublicKey::EC(_)) => match curve(&key.algorithm) {
            Some(curve)
                if curve == OID_EC_P256.to_id_string() || curve == OID_NIST_EC_P384.to_id_string() =>
            {
                return Ok(());
            }
            Some(curve) => format!("ECDSA on curve {curve}"),
            None => "ECDSA on no named curve".to_owned(),
        },
        Ok(PublicKey::RSA(rsa)) if (RSA_BITS_MIN..=RSA_BITS_MAX).contains(&rsa.key_size()) => return Ok(()),
        Ok(PublicKey::RSA(rsa)) => format!("RSA of {} bits", rsa.key_size()),
        Ok(PublicKey::Unknown(_)) if *algorithm == OID_SIG_ED25519 => return Ok(()),
        Ok(_) => format!("of the kind {}", algorithm.to_id_string()),
        Err(_) => "not readable".to_owned(),
    };
    Err(RequestRefused::Key { found })
}

fn curve(algorithm: &AlgorithmIdentifier<'_>) -> Option<String> {
    Some(algorithm.parameters.as_ref()?.as_oid().ok()?.to_id_string())
}

fn check_signature(request: &X509CertificationRequest<'_>) -> Result<(), RequestRefused> {
    let algorithm = &request.signature_algorithm.algorithm;
    if *algorithm == OID_PKCS1_SHA1WITHRSA || *algorithm == OID_SHA1_WITH_RSA {
        return Err(RequestRefused::WeakSignature);
    }
    request.verify_signature().map_err(|_| RequestRefused::Signature)
}
