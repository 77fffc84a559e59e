//! The check of a certificate that a cluster handed out.

use jiff::{SignedDuration, Timestamp};
use x509_parser::certificate::X509Certificate;

use super::request::{self, RequestRefused};
use super::{distinguished_name, x509};
use crate::subject::Subject;

/// Largest text of certificates, in bytes of PEM: an authority's bundle may hold some dozens.
pub const CERTIFICATES_BYTES_MAX: usize = 256 * 1024;

/// How far our clock and a cluster's may be apart, in seconds. Kubernetes dates certificates back by the same five
/// minutes for this reason.
pub const CLOCK_SKEW_SECONDS_MAX: i64 = 300;

/// What a certificate must be.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// The request that it answers, as PEM: its key must be the certificate's.
    pub request_pem: &'a str,
    /// The subject that it must have.
    pub subject: &'a Subject,
    /// The lifetime that was asked for, in seconds; none when the signer was free to choose.
    pub lifetime_seconds: Option<i32>,
    /// The time.
    pub now: Timestamp,
}

/// What a checked certificate says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFacts {
    /// Its validity begins.
    pub not_before: Timestamp,
    /// Its validity ends.
    pub not_after: Timestamp,
    /// Its serial number, as lower-case hexadecimal digits, two for each byte.
    pub serial_hex: String,
    /// Its subject.
    pub subject: Subject,
    /// True when its whole validity is shorter than what was asked for, by more than [`CLOCK_SKEW_SECONDS_MAX`].
    pub is_shortened: bool,
}

/// Why certificates are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CertificateRefused {
    /// They are over [`CERTIFICATES_BYTES_MAX`].
    #[error("the certificates must be at most 256 KiB")]
    TooLarge,
    /// The text has no PEM block, or one that isn't a certificate.
    #[error("the text must be PEM blocks `CERTIFICATE`, at least one, each of one X.509 certificate")]
    NotCertificates,
    /// The request that the certificate should answer can't be read.
    #[error("the request that the certificate answers can't be read")]
    Request(#[source] RequestRefused),
    /// Another key than the request's.
    #[error("the certificate must have the public key of the request that it answers, and has another")]
    PublicKey,
    /// Another subject.
    #[error("the certificate's subject must be exactly {expected}, and is another one")]
    Subject {
        /// What the subject must be.
        expected: Subject,
        /// What it is, cut to 200 characters. It is not in the message, because the issuer of the certificate can have chosen it.
        found: String,
    },
    /// An authority's certificate.
    #[error("the certificate must not be that of a certificate authority")]
    Authority,
    /// Not for clients.
    #[error("the certificate must be for client authentication, and is not")]
    NotForClients,
    /// Its validity begins later, even if our clock is slow.
    #[error("the certificate is valid from {not_before} only, and it is {now}")]
    NotYetValid {
        /// When its validity begins.
        not_before: Timestamp,
        /// The time of the check.
        now: Timestamp,
    },
    /// Its validity is over.
    #[error("the certificate was valid until {not_after}, and it is {now}")]
    Expired {
        /// When its validity ended.
        not_after: Timestamp,
        /// The time of the check.
        now: Timestamp,
    },
    /// It lives longer than was asked for.
    #[error(
        "the certificate is valid until {not_after}; with the lifetime that was asked for it must end by {latest}"
    )]
    TooLong {
        /// When its validity ends.
        not_after: Timestamp,
        /// The latest acceptable end, counted from its beginning; dating back and clock skew are included.
        latest: Timestamp,
    },
}

impl CertificateRefused {
    /// True when the same certificate may be accepted later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::NotYetValid { .. })
    }
}

/// Checks a certificate that a cluster handed out, before it is used.
///
/// The text is what Kubernetes has in `status.certificate`: PEM, the user's certificate first, intermediate ones after
/// it, anything outside of blocks ignored. The certificate must have the request's key, exactly the subject, client
/// authentication among its usages, and not be an authority's. It must be valid now, and not for longer than asked;
/// [`CLOCK_SKEW_SECONDS_MAX`] is tolerated at its beginning, and twice that for its length: once because signers date
/// back, once for clocks. A shorter life is accepted and
/// reported in [`CertificateFacts::is_shortened`]. Who signed it isn't checked: that is the cluster's word.
///
/// # Errors
/// [`CertificateRefused`]: the first thing that is wrong.
pub fn check_certificate(
    certificate_pem: &str,
    expected: &Expected<'_>,
) -> Result<CertificateFacts, CertificateRefused> {
    let ders = blocks(certificate_pem)?;
    let chain = parse(&ders)?;
    let certificate = chain.first().ok_or(CertificateRefused::NotCertificates)?;
    check_identity(certificate, expected)?;
    let (not_before, not_after) = check_validity(certificate, expected)?;
    let skew = SignedDuration::from_secs(CLOCK_SKEW_SECONDS_MAX);
    let lifetime = not_after.duration_since(not_before);
    let is_shortened = asked(expected).is_some_and(|asked| lifetime + skew < asked);
    let serial_hex = x509::serial_hex(certificate);
    Ok(CertificateFacts {
        not_before,
        not_after,
        serial_hex,
        subject: expected.subject.clone(),
        is_shortened,
    })
}

/// When the last of the certificates ends: after it, nothing can be verified with this bundle of authorities.
///
/// # Errors
/// [`CertificateRefused`] when the text is too large or isn't PEM of certificates.
pub fn authorities_not_after(authorities_pem: &str) -> Result<Timestamp, CertificateRefused> {
    let ders = blocks(authorities_pem)?;
    let ends =
        parse(&ders)?.iter().map(|certificate| x509::timestamp(certificate.validity().not_after)).max();
    ends.ok_or(CertificateRefused::NotCertificates)
}

fn blocks(text: &str) -> Result<Vec<Vec<u8>>, CertificateRefused> {
    if text.len() > CERTIFICATES_BYTES_MAX {
        return Err(CertificateRefused::TooLarge);
    }
    x509::blocks(text).ok_or(CertificateRefused::NotCertificates)
}

fn parse(ders: &[Vec<u8>]) -> Result<Vec<X509Certificate<'_>>, CertificateRefused> {
    x509::certificates(ders).ok_or(CertificateRefused::NotCertificates)
}

fn check_identity(
    certificate: &X509Certificate<'_>,
    expected: &Expected<'_>,
) -> Result<(), CertificateRefused> {
    let key = request::public_key(expected.request_pem).map_err(CertificateRefused::Request)?;
    if certificate.public_key().raw != key {
        return Err(CertificateRefused::PublicKey);
    }
    if !distinguished_name::is_exactly(certificate.subject(), expected.subject) {
        let found = distinguished_name::shown(certificate.subject());
        return Err(CertificateRefused::Subject { expected: expected.subject.clone(), found });
    }
    if certificate.is_ca() {
        return Err(CertificateRefused::Authority);
    }
    match certificate.extended_key_usage() {
        Ok(Some(usage)) if usage.value.client_auth => Ok(()),
        Ok(_) | Err(_) => Err(CertificateRefused::NotForClients),
    }
}

fn check_validity(
    certificate: &X509Certificate<'_>,
    expected: &Expected<'_>,
) -> Result<(Timestamp, Timestamp), CertificateRefused> {
    let now = expected.now;
    let not_before = x509::timestamp(certificate.validity().not_before);
    let not_after = x509::timestamp(certificate.validity().not_after);
    let skew = SignedDuration::from_secs(CLOCK_SKEW_SECONDS_MAX);
    if not_before.duration_since(now) > skew {
        return Err(CertificateRefused::NotYetValid { not_before, now });
    }
    if not_after <= now {
        return Err(CertificateRefused::Expired { not_after, now });
    }
    if let Some(asked) = asked(expected) {
        // From its beginning, not from now: what lives too long is refused whenever it is looked at. Kubernetes counts
        // a short life from the signing and dates the beginning back.
        let latest = not_before.saturating_add(asked + skew + skew).unwrap_or(Timestamp::MAX);
        if not_after > latest {
            return Err(CertificateRefused::TooLong { not_after, latest });
        }
    }
    Ok((not_before, not_after))
}

fn asked(expected: &Expected<'_>) -> Option<SignedDuration> {
    expected.lifetime_seconds.map(|seconds| SignedDuration::from_secs(seconds.into()))
}
