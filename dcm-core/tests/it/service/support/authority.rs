//! A cluster's signer.

use std::ops::Range;
use std::sync::LazyLock;
use std::time::Duration;

use dcm_core::secret::Secret;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, date_time_ymd,
};

static AUTHORITY: LazyLock<(Issuer<'static, KeyPair>, String)> = LazyLock::new(|| {
    let mut parameters = CertificateParams::default();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = parameters.self_signed(&key).unwrap().pem();
    (Issuer::new(parameters, key), certificate)
});

/// The authority's own certificate.
pub(crate) fn certificate() -> &'static str {
    &AUTHORITY.1
}

/// A request of a key for whomever.
pub(crate) fn request_of(key: &Secret, common_name: &str) -> String {
    let key = KeyPair::from_pem(key.expose()).unwrap();
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, common_name);
    parameters.serialize_request(&key).unwrap().pem().unwrap()
}

/// Signs a request for the year 2026, whatever was asked for.
pub(crate) fn sign(csr_pem: &str) -> String {
    sign_with(csr_pem, |parameters| {
        parameters.not_before = date_time_ymd(2026, 1, 1);
        parameters.not_after = date_time_ymd(2027, 1, 1);
    })
}

/// Signs a request for a time that is counted from [`now`](super::now), in seconds.
pub(crate) fn sign_from_now(csr_pem: &str, life: &Range<u64>) -> String {
    sign_with(csr_pem, |parameters| {
        parameters.not_before = date_time_ymd(2026, 6, 1) + Duration::from_secs(life.start);
        parameters.not_after = date_time_ymd(2026, 6, 1) + Duration::from_secs(life.end);
    })
}

fn sign_with(csr_pem: &str, set: impl FnOnce(&mut CertificateParams)) -> String {
    let mut request = CertificateSigningRequestParams::from_pem(csr_pem).unwrap();
    set(&mut request.params);
    request.params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    request.signed_by(&AUTHORITY.0).unwrap().pem()
}
