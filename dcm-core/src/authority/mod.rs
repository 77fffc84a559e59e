//! Certificate authorities of logical clouds: one root each, and below it one intermediate authority for each cluster.
//!
//! [`Authority::create_root`] makes the root of a logical cloud, and [`Authority::new`] takes one that you bring. [`Authority::issue`]
//! makes the intermediate authority of a cluster. What a cluster gets are the files of the secret `cacerts`, with which the control plane of a
//! service mesh signs the certificates of workloads: [`Authority::ca_certs`]. A workload of any cluster of the cloud then verifies one of
//! any other, and none of a cloud with another root.
//!
//! Randomness comes from a [`KeySource`] and the time is an argument: the certificates follow from both. Each certificate is checked
//! after it was made, by the same code that checks what you bring: signature, key, usages, path length, and that it is valid within its issuer's
//! validity.
//!
//! ```
//! use dcm_core::authority::{Authority, Profile, Template};
//! use dcm_core::name::TrustDomain;
//! use dcm_core::pki::SystemKeys;
//! use dcm_core::subject::Subject;
//!
//! let now = "2030-01-01T00:00:00Z".parse()?;
//! let of_root = Template {
//!     subject: Subject::new("lc1 root", None)?,
//!     trust_domain: TrustDomain::new("lc1.proj1")?,
//!     profile: Profile::ROOT,
//! };
//! let root = Authority::create_root(&SystemKeys, &of_root, now)?;
//! let of_edge = Template { subject: Subject::new("lc1 edge-1", None)?, profile: Profile::INTERMEDIATE, ..of_root };
//! let edge = root.issue(&SystemKeys, &of_edge, now)?;
//! assert_eq!(edge.ca_certs().root_certs, [root.certificate()]);
//! assert_eq!(edge.facts().not_after.to_string(), "2031-01-01T00:00:00Z");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! - Verifiers of a mesh ask for no revocation list. A leaked intermediate key is contained by its lifetime and by a new root.
//! - Certificates have no name constraints, as not every verifier knows constraints of URIs. So clouds that share a root that you bring
//!   are kept apart by their trust domains alone.

mod check;
mod issue;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::name::TrustDomain;
use crate::pki::renewal::{RENEWAL, part};
#[cfg(doc)]
use crate::port::key_source::KeySource;
use crate::secret::Secret;

pub use check::{CHAIN_MAX, Fault, Refused};
pub use issue::{IssueError, LIFETIME_MAX, LIFETIME_MIN, Profile, Template};

/// A certificate authority: its certificate, its private key, and the certificates from it up to its root.
///
/// A value is proof that they fit each other; the time is not part of that, see [`Authority::check_time`]. Serialised, the key is a
/// [`Secret`], and what is read back is checked again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Document", into = "Document")]
pub struct Authority {
    /// In PEM: its own certificate first, the root last.
    chain: Vec<String>,
    /// Facts of these certificates.
    facts: Vec<AuthorityFacts>,
    key: Secret,
}

/// A stored authority.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    certificates: String,
    key: Secret,
}

/// Facts of an authority's certificate. Nothing of it is secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuthorityFacts {
    /// SHA-256 of the certificate, as lower-case hexadecimal digits.
    pub fingerprint_sha256: String,
    /// The serial number, as lower-case hexadecimal digits.
    pub serial_hex: String,
    /// The subject, for people: at most 200 characters.
    pub subject: String,
    /// The trust domain, where the certificate names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_domain: Option<TrustDomain>,
    /// How many authorities may be between this one and a workload; none for any number.
    pub path_length: Option<u32>,
    /// When its validity begins.
    pub not_before: Timestamp,
    /// When its validity ends.
    pub not_after: Timestamp,
}

impl AuthorityFacts {
    /// When the authority is renewed: after two thirds of its validity.
    #[must_use]
    pub fn renewal(&self) -> Timestamp {
        let lifetime = self.not_after.duration_since(self.not_before);
        self.not_before.saturating_add(part(lifetime, RENEWAL)).unwrap_or(Timestamp::MAX)
    }
}

/// The files of the secret `cacerts`, by which Istio's control plane signs for a root that it did not make itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaCerts<'a> {
    /// `ca-cert.pem`: the certificate of the authority that signs.
    pub ca_cert: &'a str,
    /// `ca-key.pem`: its private key.
    pub ca_key: &'a Secret,
    /// `root-cert.pem`: the roots that workloads trust, the authority's own first.
    pub root_certs: Vec<&'a str>,
    /// `cert-chain.pem`: the certificates from the authority that signs up to the root.
    pub cert_chain: &'a [String],
}

impl<'a> CaCerts<'a> {
    /// The same files with one more root that workloads trust, as while a root is replaced.
    #[must_use]
    pub fn trusting(mut self, root: &'a Authority) -> Self {
        self.root_certs.push(root.root_certificate());
        self
    }

    /// The names of the files, and their contents. The key is in clear.
    #[must_use]
    pub fn files(&self) -> [(&'static str, Secret); 4] {
        [
            ("ca-cert.pem", Secret::new(self.ca_cert)),
            ("ca-key.pem", self.ca_key.clone()),
            ("root-cert.pem", Secret::new(self.root_certs.concat())),
            ("cert-chain.pem", Secret::new(self.cert_chain.concat())),
        ]
    }
}

impl Authority {
    /// Takes an authority that was made elsewhere: a root, or one below it with all certificates up to the root.
    ///
    /// The certificates are PEM, the authority's own first and the root last. The key is one PEM block `PRIVATE KEY`, `EC PRIVATE KEY` or
    /// `RSA PRIVATE KEY`, not encrypted. Text outside of blocks is ignored.
    ///
    /// # Errors
    /// [`Refused`]: the first thing that is wrong.
    pub fn new(certificates_pem: &str, key: &Secret) -> Result<Self, Refused> {
        check::authority(certificates_pem, key)
    }

    /// Checks that all certificates are valid at a time.
    ///
    /// # Errors
    /// [`Refused`] for the first one that is not.
    pub fn check_time(&self, now: Timestamp) -> Result<(), Refused> {
        check::time(&self.facts, now)
    }

    /// The certificate of the authority, in PEM.
    #[must_use]
    pub fn certificate(&self) -> &str {
        &self.chain[0]
    }

    /// Facts of the authority's certificate.
    #[must_use]
    pub fn facts(&self) -> &AuthorityFacts {
        &self.facts[0]
    }

    /// The certificate of its root, in PEM.
    #[must_use]
    pub fn root_certificate(&self) -> &str {
        &self.chain[self.chain.len() - 1]
    }

    /// Facts of the root's certificate.
    #[must_use]
    pub fn root_facts(&self) -> &AuthorityFacts {
        &self.facts[self.facts.len() - 1]
    }

    /// True when it is its own root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.chain.len() == 1
    }

    /// The files with which a control plane signs as this authority.
    #[must_use]
    pub fn ca_certs(&self) -> CaCerts<'_> {
        CaCerts {
            ca_cert: self.certificate(),
            ca_key: &self.key,
            root_certs: vec![self.root_certificate()],
            cert_chain: &self.chain,
        }
    }
}

impl TryFrom<Document> for Authority {
    type Error = Refused;

    fn try_from(document: Document) -> Result<Self, Refused> {
        Self::new(&document.certificates, &document.key)
    }
}

impl From<Authority> for Document {
    fn from(authority: Authority) -> Self {
        Self { certificates: authority.chain.concat(), key: authority.key }
    }
}
