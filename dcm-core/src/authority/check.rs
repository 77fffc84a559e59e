//! The check of an authority: that its certificates fit each other and its key.

use std::collections::BTreeSet;

use aws_lc_rs::signature::UnparsedPublicKey;
use data_encoding::HEXLOWER;
use jiff::Timestamp;
use rcgen::{KeyPair, PublicKeyData};
use secrecy::zeroize::Zeroize;
use sha2::{Digest, Sha256};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::pem::Pem;

use super::{Authority, AuthorityFacts};
use crate::name::TrustDomain;
use crate::pem_block;
use crate::pki::algorithm::{self, KEYS, SIGNATURES, Signature};
use crate::pki::{CERTIFICATES_BYTES_MAX, distinguished_name, x509};
use crate::secret::Secret;

/// Most certificates of an authority, its own and its root's included.
pub const CHAIN_MAX: usize = 8;

/// The labels of the PEM blocks that a private key may be in.
const KEY_LABELS: [&str; 3] = ["PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY"];

/// Why an authority is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The certificates can't be read.
    #[error(
        "the certificates must be PEM blocks `CERTIFICATE`: 1 to {CHAIN_MAX}, the authority's own first, its root last, at most 256 KiB"
    )]
    NotCertificates,
    /// The private key can't be read.
    #[error(
        "the private key must be one PEM block `PRIVATE KEY`, `EC PRIVATE KEY` or `RSA PRIVATE KEY`, not encrypted, of {KEYS}"
    )]
    NotKey,
    /// The private key belongs to another certificate.
    #[error("the private key must be that of the first certificate, {subject:?}, and is another one")]
    OtherKey {
        /// The subject of the first certificate.
        subject: String,
    },
    /// A certificate is not as it must be.
    #[error("certificate {position}, {subject:?}: {fault}")]
    Certificate {
        /// Its place among the certificates, counted from 1.
        position: usize,
        /// Its subject, cut to 200 characters.
        subject: String,
        /// What is wrong.
        fault: Fault,
    },
}

impl Refused {
    /// True when the same authority may be accepted later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Certificate { fault: Fault::NotYetValid { .. }, .. })
    }
}

/// What is wrong with a certificate of an authority.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It is not for an authority.
    #[error("its basic constraints must have CA set to true")]
    NotAuthority,
    /// It may not sign certificates and revocation lists.
    #[error("its key usages must include keyCertSign and cRLSign")]
    KeyUsage,
    /// Its path length is too small for the authorities below it.
    #[error("its path length must be at least {needed}")]
    PathLength {
        /// How many authorities are below it.
        needed: u32,
    },
    /// An extension is not supported: name constraints, or a critical one that is unknown.
    #[error("its extension {oid} is not supported")]
    Extension {
        /// The object identifier.
        oid: String,
    },
    /// Its extended key usages exclude workloads, which are servers and clients.
    #[error("its extended key usages must have both server and client authentication, or any, or be absent")]
    ExtendedKeyUsage,
    /// Its subject has an attribute twice, or two in one set: the certificates that it issues could not name it (a limit of this version).
    #[error("its subject must have each attribute once, each in a set of its own, for example one DC")]
    Subject,
    /// It is of another trust domain.
    #[error("its trust domain is {found}, and that of the authority below it must be the same")]
    TrustDomain {
        /// The trust domain of the issuer.
        found: TrustDomain,
    },
    /// It ends too soon to issue another one.
    #[error("it ends at {not_after}, less than 1 hour from now; renew it first")]
    EndsSoon {
        /// When its validity ends.
        not_after: Timestamp,
    },
    /// Its key is not supported.
    #[error("its key is {found}; it must be {KEYS}")]
    Key {
        /// The key.
        found: String,
    },
    /// Its signature's algorithm is not supported.
    #[error("it is signed by {found}; it must be signed by {SIGNATURES}")]
    SignatureAlgorithm {
        /// The algorithm.
        found: String,
    },
    /// It is not issued by the next one, or the last one not by itself.
    #[error("it must be issued by {issuer}; its issuer's name or its signature does not match")]
    Issuer {
        /// `the next certificate`, or `itself, as the root`.
        issuer: &'static str,
    },
    /// It has the name of its issuer and is no root.
    #[error("its subject must differ from its issuer's")]
    SelfIssued,
    /// Its validity exceeds its issuer's.
    #[error("its validity must be within its issuer's, {not_before} to {not_after}")]
    Outlives {
        /// When the issuer's validity begins.
        not_before: Timestamp,
        /// When the issuer's validity ends.
        not_after: Timestamp,
    },
    /// Its validity begins later.
    #[error("it is valid from {not_before} only; now: {now}")]
    NotYetValid {
        /// When its validity begins.
        not_before: Timestamp,
        /// The time of the check.
        now: Timestamp,
    },
    /// Its validity is over.
    #[error("it was valid until {not_after}; now: {now}")]
    Expired {
        /// When its validity ended.
        not_after: Timestamp,
        /// The time of the check.
        now: Timestamp,
    },
}

pub(super) fn authority(certificates_pem: &str, key: &Secret) -> Result<Authority, Refused> {
    let is_small = certificates_pem.len() <= CERTIFICATES_BYTES_MAX;
    let ders = is_small.then(|| x509::blocks(certificates_pem)).flatten().ok_or(Refused::NotCertificates)?;
    let certificates = x509::certificates(&ders).ok_or(Refused::NotCertificates)?;
    if !(1..=CHAIN_MAX).contains(&certificates.len()) {
        return Err(Refused::NotCertificates);
    }
    let facts: Vec<AuthorityFacts> =
        certificates.iter().zip(&ders).map(|(one, der)| facts(one, der)).collect();
    for (index, certificate) in certificates.iter().enumerate() {
        let parent = certificates.get(index + 1);
        let issuer = (parent.unwrap_or(certificate), &facts[(index + 1).min(facts.len() - 1)]);
        let checked = check_one(certificate, index, &facts[index])
            .and_then(|()| check_issuer(certificate, issuer, parent.is_none(), &facts[index]));
        checked.map_err(|fault| refused(&facts, index, fault))?;
    }
    let key = check_key(key, &certificates[0], &facts[0])?;
    let chain = ders.iter().map(|der| pem_block::write("CERTIFICATE", der)).collect();
    Ok(Authority { chain, facts, key })
}

pub(super) fn time(facts: &[AuthorityFacts], now: Timestamp) -> Result<(), Refused> {
    for (index, one) in facts.iter().enumerate() {
        let fault = if now < one.not_before {
            Fault::NotYetValid { not_before: one.not_before, now }
        } else if one.not_after <= now {
            Fault::Expired { not_after: one.not_after, now }
        } else {
            continue;
        };
        return Err(refused(facts, index, fault));
    }
    Ok(())
}

pub(super) fn refused(facts: &[AuthorityFacts], index: usize, fault: Fault) -> Refused {
    Refused::Certificate { position: index + 1, subject: facts[index].subject.clone(), fault }
}

fn facts(certificate: &X509Certificate<'_>, der: &[u8]) -> AuthorityFacts {
    let constraints = certificate.basic_constraints().ok().flatten();
    AuthorityFacts {
        fingerprint_sha256: HEXLOWER.encode(&Sha256::digest(der)),
        serial_hex: x509::serial_hex(certificate),
        subject: distinguished_name::shown(certificate.subject()),
        trust_domain: trust_domain(certificate),
        path_length: constraints.and_then(|constraints| constraints.value.path_len_constraint),
        not_before: x509::timestamp(certificate.validity().not_before),
        not_after: x509::timestamp(certificate.validity().not_after),
    }
}

/// Checks a certificate by itself. `below` counts the authorities below it in the chain.
fn check_one(certificate: &X509Certificate<'_>, below: usize, facts: &AuthorityFacts) -> Result<(), Fault> {
    if !certificate.is_ca() {
        return Err(Fault::NotAuthority);
    }
    let usage = certificate.key_usage().ok().flatten();
    if !usage.is_some_and(|usage| usage.value.key_cert_sign() && usage.value.crl_sign()) {
        return Err(Fault::KeyUsage);
    }
    let needed = u32::try_from(below).unwrap_or(u32::MAX);
    if facts.path_length.is_some_and(|length| length < needed) {
        return Err(Fault::PathLength { needed });
    }
    check_extensions(certificate)?;
    algorithm::check_key(certificate.public_key()).map(drop).map_err(|found| Fault::Key { found })
}

/// Refuses extensions that restrict workloads: verifiers in the mesh would apply them, and refuse workloads at run time.
fn check_extensions(certificate: &X509Certificate<'_>) -> Result<(), Fault> {
    for extension in certificate.extensions() {
        let is_supported = match extension.parsed_extension() {
            ParsedExtension::BasicConstraints(_)
            | ParsedExtension::KeyUsage(_)
            | ParsedExtension::SubjectKeyIdentifier(_)
            | ParsedExtension::AuthorityKeyIdentifier(_)
            | ParsedExtension::SubjectAlternativeName(_) => true,
            ParsedExtension::ExtendedKeyUsage(usage) => {
                if !(usage.any || (usage.server_auth && usage.client_auth)) {
                    return Err(Fault::ExtendedKeyUsage);
                }
                true
            }
            ParsedExtension::NameConstraints(_) => false,
            _ => !extension.critical,
        };
        if !is_supported {
            return Err(Fault::Extension { oid: extension.oid.to_id_string() });
        }
    }
    let mut attributes = BTreeSet::new();
    let is_plain = certificate.subject().iter_rdn().all(|part| {
        let mut of_part = part.iter();
        let first = of_part.next().is_some_and(|one| attributes.insert(one.attr_type().to_id_string()));
        first && of_part.next().is_none()
    });
    if is_plain { Ok(()) } else { Err(Fault::Subject) }
}

/// Checks a certificate against its issuer: name, signature and validity.
fn check_issuer(
    certificate: &X509Certificate<'_>,
    (issuer, issuer_facts): (&X509Certificate<'_>, &AuthorityFacts),
    is_last: bool,
    facts: &AuthorityFacts,
) -> Result<(), Fault> {
    let by = if is_last { "itself, as the root" } else { "the next certificate" };
    let read = Signature::read(&certificate.signature_algorithm).ok_or_else(|| {
        Fault::SignatureAlgorithm { found: algorithm::signature_name(&certificate.signature_algorithm) }
    })?;
    let key = algorithm::check_key(issuer.public_key()).ok();
    let has_name = certificate.issuer().as_raw() == issuer.subject().as_raw();
    let is_signed = key.and_then(|key| read.verification(key)).is_some_and(|verification| {
        let key = UnparsedPublicKey::new(verification, &issuer.public_key().subject_public_key.data);
        key.verify(certificate.tbs_certificate.as_ref(), &certificate.signature_value.data).is_ok()
    });
    if !has_name || !is_signed {
        return Err(Fault::Issuer { issuer: by });
    }
    if !is_last && certificate.subject().as_raw() == certificate.issuer().as_raw() {
        return Err(Fault::SelfIssued);
    }
    let AuthorityFacts { not_before, not_after, .. } = *issuer_facts;
    if facts.not_before < not_before || facts.not_after > not_after {
        return Err(Fault::Outlives { not_before, not_after });
    }
    Ok(())
}

/// The key in one PEM block, once it is known to be that of the certificate.
fn check_key(
    key: &Secret,
    certificate: &X509Certificate<'_>,
    facts: &AuthorityFacts,
) -> Result<Secret, Refused> {
    let mut blocks: Vec<Pem> = Pem::iter_from_buffer(key.expose().as_bytes()).map_while(Result::ok).collect();
    let checked = match blocks.as_slice() {
        [block] => check_block(block, certificate, facts),
        _ => Err(Refused::NotKey),
    };
    blocks.iter_mut().for_each(|block| block.contents.zeroize());
    checked
}

fn check_block(
    block: &Pem,
    certificate: &X509Certificate<'_>,
    facts: &AuthorityFacts,
) -> Result<Secret, Refused> {
    let label = KEY_LABELS.into_iter().find(|label| *label == block.label).ok_or(Refused::NotKey)?;
    let mut pair = KeyPair::try_from(block.contents.as_slice()).map_err(|_| Refused::NotKey)?;
    let public = pair.subject_public_key_info();
    pair.zeroize();
    if public != certificate.public_key().raw {
        return Err(Refused::OtherKey { subject: facts.subject.clone() });
    }
    Ok(Secret::new(pem_block::write(label, &block.contents)))
}

/// The trust domain of an authority's SPIFFE ID: a URI without a path.
fn trust_domain(certificate: &X509Certificate<'_>) -> Option<TrustDomain> {
    let names = certificate.subject_alternative_name().ok().flatten()?;
    names.value.general_names.iter().find_map(|name| match name {
        GeneralName::URI(uri) => TrustDomain::new(uri.strip_prefix("spiffe://")?).ok(),
        _ => None,
    })
}
