//! How authorities are made.

use std::error::Error as StdError;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKey, SanType, date_time_ymd,
};
use secrecy::zeroize::Zeroize;
use x509_parser::pem::Pem;

use super::check::{Fault, refused};
use super::{Authority, Refused};
use crate::name::TrustDomain;
use crate::pki::{CLOCK_SKEW_SECONDS_MAX, distinguished_name};
use crate::port::key_source::{self, KeyAndRequest, KeySource, KeyType};
use crate::secret::Secret;
use crate::subject::Subject;

/// Shortest lifetime of an authority: the certificates that it signs would end with it.
pub const LIFETIME_MIN: SignedDuration = SignedDuration::from_hours(1);

/// Longest lifetime of an authority, about 25 years.
pub const LIFETIME_MAX: SignedDuration = SignedDuration::from_hours(25 * 365 * 24);

/// Settings for making an authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// The type of its key.
    pub key: KeyType,
    /// How long it is valid from its making on, from [`LIFETIME_MIN`] to [`LIFETIME_MAX`]; at most as long as its issuer is.
    pub lifetime: SignedDuration,
}

impl Profile {
    /// A root: ECDSA P-256, ten years.
    pub const ROOT: Self =
        Self { key: KeyType::EcdsaP256, lifetime: SignedDuration::from_hours(10 * 365 * 24) };

    /// An intermediate authority of a cluster: ECDSA P-256, one year.
    pub const INTERMEDIATE: Self =
        Self { key: KeyType::EcdsaP256, lifetime: SignedDuration::from_hours(365 * 24) };
}

/// An authority before it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Its subject, which must differ from its issuer's.
    pub subject: Subject,
    /// Its trust domain, which is also its issuer's.
    pub trust_domain: TrustDomain,
    /// Its key and lifetime.
    pub profile: Profile,
}

/// Why an authority was not made.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// The lifetime is out of its limits.
    #[error("the lifetime of an authority must be from 1 hour to 25 years, and is {found:#}")]
    Lifetime {
        /// The lifetime that was asked for.
        found: SignedDuration,
    },
    /// No key could be made.
    #[error("no key could be made for the authority")]
    Key(#[from] key_source::Error),
    /// The certificate could not be signed.
    #[error("the certificate of the authority could not be signed")]
    Sign(#[source] Box<dyn StdError + Send + Sync>),
    /// The issuer may not, or not now, issue this authority.
    #[error("the issuer is refused")]
    Issuer(#[source] Refused),
    /// The authority that was made does not pass the check.
    #[error("the authority that was made is refused")]
    Made(#[source] Refused),
}

impl IssueError {
    /// True when the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Key(source) => source.is_retryable(),
            Self::Issuer(source) | Self::Made(source) => source.is_retryable(),
            Self::Lifetime { .. } | Self::Sign(_) => false,
        }
    }
}

impl From<rcgen::Error> for IssueError {
    fn from(source: rcgen::Error) -> Self {
        Self::Sign(source.into())
    }
}

impl Authority {
    /// Makes the root of a trust domain. One authority may be between it and a workload.
    ///
    /// # Errors
    /// [`IssueError`] for a lifetime out of its limits, and when no key or no certificate could be made.
    pub fn create_root(
        keys: &dyn KeySource,
        template: &Template,
        now: Timestamp,
    ) -> Result<Self, IssueError> {
        let made = make_key(keys, template)?;
        let mut pair = key_pair(&made.key)?;
        let validity = Validity { begin: dated_back(now), end: end(now, template) };
        let certificate =
            parameters(template, 1, &validity).and_then(|parameters| parameters.self_signed(&pair));
        pair.zeroize();
        checked(&certificate?.pem(), &made.key, now)
    }

    /// Makes an authority below this one that signs for workloads alone: its path length is 0.
    ///
    /// Its validity is within this authority's: where this one ends before the lifetime is over, so does the new one.
    ///
    /// # Errors
    /// [`IssueError`] for a lifetime out of its limits; when this authority is not valid for at least [`LIFETIME_MIN`] from now on, is of
    /// another trust domain, or may have none below it; and when no key or no certificate could be made.
    pub fn issue(
        &self,
        keys: &dyn KeySource,
        template: &Template,
        now: Timestamp,
    ) -> Result<Self, IssueError> {
        self.check_issuer(&template.trust_domain, now).map_err(IssueError::Issuer)?;
        let own = self.facts();
        let made = make_key(keys, template)?;
        let public = CertificateSigningRequestParams::from_pem(&made.request)?.public_key;
        let validity = Validity {
            begin: dated_back(now).max(own.not_before),
            end: end(now, template).min(own.not_after),
        };
        let mut pair = key_pair(&self.key)?;
        let certificate = self.sign(template, &validity, &public, &pair);
        pair.zeroize();
        let chain: String = [certificate?].into_iter().chain(self.chain.iter().cloned()).collect();
        checked(&chain, &made.key, now)
    }

    fn check_issuer(&self, domain: &TrustDomain, now: Timestamp) -> Result<(), Refused> {
        self.check_time(now)?;
        let own = self.facts();
        let fault = match &own.trust_domain {
            _ if own.path_length == Some(0) => Fault::PathLength { needed: 1 },
            _ if own.not_after.duration_since(now) < LIFETIME_MIN => {
                Fault::EndsSoon { not_after: own.not_after }
            }
            Some(found) if found != domain => Fault::TrustDomain { found: found.clone() },
            Some(_) | None => return Ok(()),
        };
        Err(refused(&self.facts, 0, fault))
    }

    fn sign(
        &self,
        template: &Template,
        validity: &Validity,
        public: &PublicKey,
        pair: &KeyPair,
    ) -> Result<String, IssueError> {
        let issuer = Issuer::from_ca_cert_pem(self.certificate(), pair)?;
        let mut parameters = parameters(template, 0, validity)?;
        parameters.use_authority_key_identifier_extension = true;
        Ok(parameters.signed_by(public, &issuer)?.pem())
    }
}

/// Whole seconds, as certificates have.
struct Validity {
    begin: Timestamp,
    end: Timestamp,
}

/// Clusters whose clocks are slow take it at once, too.
fn dated_back(now: Timestamp) -> Timestamp {
    now.saturating_sub(SignedDuration::from_secs(CLOCK_SKEW_SECONDS_MAX)).unwrap_or(Timestamp::MIN)
}

fn end(now: Timestamp, template: &Template) -> Timestamp {
    now.saturating_add(template.profile.lifetime).unwrap_or(Timestamp::MAX)
}

/// The pair of a key in PEM; what is decoded on the way is wiped.
fn key_pair(key: &Secret) -> Result<KeyPair, IssueError> {
    let block = Pem::iter_from_buffer(key.expose().as_bytes()).next().and_then(Result::ok);
    let mut block = block.ok_or(rcgen::Error::CouldNotParseKeyPair)?;
    let pair = KeyPair::try_from(block.contents.as_slice());
    block.contents.zeroize();
    Ok(pair?)
}

fn make_key(keys: &dyn KeySource, template: &Template) -> Result<KeyAndRequest, IssueError> {
    let Profile { key, lifetime } = template.profile;
    if !(LIFETIME_MIN..=LIFETIME_MAX).contains(&lifetime) {
        return Err(IssueError::Lifetime { found: lifetime });
    }
    Ok(keys.issue_of(key, &template.subject)?)
}

/// The serial number is rcgen's default, a digest of the new key: each key is used for one certificate.
fn parameters(
    template: &Template,
    path_length: u8,
    validity: &Validity,
) -> Result<CertificateParams, rcgen::Error> {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = distinguished_name::of(&template.subject);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(path_length));
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    // The SPIFFE ID of a trust domain (X.509-SVID, section 3.2): an authority has no path.
    let id = format!("spiffe://{}", template.trust_domain);
    parameters.subject_alt_names = vec![SanType::URI(id.try_into()?)];
    let since_epoch = |time: Timestamp| Duration::from_secs(u64::try_from(time.as_second()).unwrap_or(0));
    parameters.not_before = date_time_ymd(1970, 1, 1) + since_epoch(validity.begin);
    parameters.not_after = date_time_ymd(1970, 1, 1) + since_epoch(validity.end);
    Ok(parameters)
}

fn checked(chain: &str, key: &Secret, now: Timestamp) -> Result<Authority, IssueError> {
    let authority = Authority::new(chain, key).map_err(IssueError::Made)?;
    authority.check_time(now).map_err(IssueError::Made)?;
    Ok(authority)
}
