//! A real certificate authority for a simulated cluster (feature `sim-pki`).

use std::sync::OnceLock;
use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, SerialNumber, SubjectPublicKeyInfo, date_time_ymd,
};
use x509_parser::prelude::{FromDer as _, X509Certificate, X509CertificationRequest, X509Error};

use super::rbac::Identity;
use super::signer::{CERTIFICATE_LIFETIME_MAX, Refusal, Signer, SigningRequest};

/// How far back a certificate's NotBefore lies, as kube-controller-manager has it, for clocks that are slow.
const BACKDATE: Duration = Duration::from_secs(5 * 60);

/// Below this lifetime the end is counted from now and not from NotBefore, as kube-controller-manager does.
const SHORT: Duration = Duration::from_secs(8 * 3600);

/// Years of the authority's own certificate: longer than any simulation.
const AUTHORITY_YEARS: (i32, i32) = (1990, 2190);

/// Signs client certificates with ECDSA P-256. The key is made when it is first needed and never leaves.
pub struct Authority {
    name: String,
    made: OnceLock<Result<CertifiedIssuer<'static, KeyPair>, Refusal>>,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("name", &self.name).finish_non_exhaustive()
    }
}

fn refused(error: impl std::fmt::Display) -> Refusal {
    Refusal { message: error.to_string() }
}

impl Authority {
    /// An authority of this name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), made: OnceLock::new() }
    }

    fn issuer(&self) -> Result<&CertifiedIssuer<'static, KeyPair>, Refusal> {
        self.made.get_or_init(|| make(&self.name).map_err(refused)).as_ref().map_err(Clone::clone)
    }
}

fn make(name: &str) -> Result<CertifiedIssuer<'static, KeyPair>, rcgen::Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, format!("simulated {name}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params.not_before = date_time_ymd(AUTHORITY_YEARS.0, 1, 1);
    params.not_after = date_time_ymd(AUTHORITY_YEARS.1, 1, 1);
    CertifiedIssuer::self_signed(params, KeyPair::generate()?)
}

/// The subject and the key of a request. rcgen's own reader takes each signature for the one that goes with the key, and knows fewer of
/// them than API servers do. A signature of an algorithm that `x509-parser` does not know is not verified.
fn read(csr_pem: &str) -> Result<(CertificateParams, SubjectPublicKeyInfo), Refusal> {
    let (_, pem) = x509_parser::pem::parse_x509_pem(csr_pem.as_bytes()).map_err(refused)?;
    let (_, request) = X509CertificationRequest::from_der(&pem.contents).map_err(refused)?;
    match request.verify_signature() {
        Ok(()) | Err(X509Error::SignatureUnsupportedAlgorithm) => {}
        Err(error) => return Err(refused(error)),
    }
    let information = &request.certification_request_info;
    let mut name = DistinguishedName::new();
    for attribute in information.subject.iter_attributes() {
        let kind: Vec<u64> = attribute.attr_type().iter().into_iter().flatten().collect();
        name.push(DnType::from_oid(&kind), attribute.as_str().map_err(refused)?);
    }
    let mut params = CertificateParams::default();
    params.distinguished_name = name;
    Ok((params, SubjectPublicKeyInfo::from_der(information.subject_pki.raw).map_err(refused)?))
}

impl Signer for Authority {
    fn sign(&self, request: &SigningRequest<'_>) -> Result<String, Refusal> {
        let (mut params, key) = read(request.csr_pem)?;
        let lifetime =
            request.lifetime.map_or(CERTIFICATE_LIFETIME_MAX, |asked| asked.min(CERTIFICATE_LIFETIME_MAX));
        let now = u64::try_from(request.now.as_second()).map_err(refused)?;
        let not_before = Duration::from_secs(now.saturating_sub(BACKDATE.as_secs()));
        let not_after = lifetime + if lifetime < SHORT { Duration::from_secs(now) } else { not_before };
        let epoch = date_time_ymd(1970, 1, 1);
        params.not_before = epoch + not_before;
        params.not_after = epoch + not_after;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        // A serial number is positive: the first bit stays clear.
        params.serial_number = Some(SerialNumber::from(request.serial >> 1));
        Ok(params.signed_by(&key, self.issuer()?).map_err(refused)?.pem())
    }

    fn identify(&self, certificate_pem: &str, now: Timestamp) -> Option<Identity> {
        let issuer = self.issuer().ok()?;
        let (_, authority) = X509Certificate::from_der(issuer.der()).ok()?;
        let (_, pem) = x509_parser::pem::parse_x509_pem(certificate_pem.as_bytes()).ok()?;
        let certificate = pem.parse_x509().ok()?;
        certificate.verify_signature(Some(authority.public_key())).ok()?;
        let validity = certificate.validity();
        let is_valid =
            (validity.not_before.timestamp()..=validity.not_after.timestamp()).contains(&now.as_second());
        let subject = certificate.subject();
        let user = subject.iter_common_name().next()?.as_str().ok().filter(|_| is_valid)?;
        let groups = subject.iter_organization().filter_map(|name| name.as_str().ok());
        Some(groups.fold(Identity::user(user), Identity::in_group))
    }

    fn ca_pem(&self) -> Option<String> {
        self.issuer().ok().map(CertifiedIssuer::pem)
    }
}
