//! The check of a certificate request that a user brings.

use aws_lc_rs::signature::UnparsedPublicKey;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;

use super::algorithm::{self, KEYS, Key, SIGNATURES, Signature};
use super::distinguished_name;
use crate::subject::{REQUEST_BYTES_MAX, Subject, request_block};

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
        "the certificate request must be one PEM block `CERTIFICATE REQUEST`, with no other block before it and nothing after it"
    )]
    NotOneBlock,
    /// The block's content isn't a request.
    #[error("the PEM block must hold a PKCS #10 certificate request")]
    NotRequest,
    /// The key is of another kind, or too short.
    #[error("the request's key is {found}; it must be {KEYS}")]
    Key {
        /// What the key is.
        found: String,
    },
    /// The signature is made with another algorithm, or a weak one.
    #[error("the request is signed by {found}; it must be signed by {SIGNATURES}")]
    SignatureAlgorithm {
        /// What it is signed with.
        found: String,
    },
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
/// and its key and signature must be of the supported [`KEYS`] and [`SIGNATURES`]. Text before the PEM block is passed over. With
/// OpenSSL: `openssl req -new -key KEY -subj "/O=ORGANIZATION/CN=COMMON NAME"`.
///
/// # Errors
/// [`RequestRefused`]: the first thing that is wrong, and what it must be.
pub fn check_request(request_pem: &str, subject: &Subject) -> Result<(), RequestRefused> {
    with_parsed(request_pem, |request| {
        let information = &request.certification_request_info;
        let key = algorithm::check_key(&information.subject_pki);
        let key = key.map_err(|found| RequestRefused::Key { found })?;
        check_signature(request, key)?;
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
    let block = request_block(text).ok_or(RequestRefused::NotOneBlock)?;
    match Pem::iter_from_buffer(block.as_bytes()).next() {
        Some(Ok(block)) => Ok(block.contents),
        Some(Err(_)) | None => Err(RequestRefused::NotOneBlock),
    }
}

fn check_signature(request: &X509CertificationRequest<'_>, key: Key) -> Result<(), RequestRefused> {
    let algorithm = &request.signature_algorithm;
    let signature = Signature::read(algorithm)
        .ok_or_else(|| RequestRefused::SignatureAlgorithm { found: algorithm::signature_name(algorithm) })?;
    let by = signature.verification(key).ok_or(RequestRefused::Signature)?;
    let information = &request.certification_request_info;
    UnparsedPublicKey::new(by, &information.subject_pki.subject_public_key.data)
        .verify(information.raw, &request.signature_value.data)
        .map_err(|_| RequestRefused::Signature)
}
