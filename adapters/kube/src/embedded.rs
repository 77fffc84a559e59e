//! Certificates and keys that a kubeconfig holds itself: whether they can be used, told by field, before anything is sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::{AuthInfo, Cluster};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{Error, RootCertStore};
use secrecy::ExposeSecret;

use crate::kubeconfig::Refusal;

const AUTHORITIES: &str = "clusters[].cluster.certificate-authority-data";
const CERTIFICATE: &str = "users[].user.client-certificate-data";
const KEY: &str = "users[].user.client-key-data";

const NO_CERTIFICATES: &str = "must be base64 of certificates in PEM";

fn refused(path: &'static str, rule: &'static str) -> Refusal {
    Refusal::Field { path, rule }
}

/// Refuses authorities that are none.
pub(crate) fn check_authorities(cluster: &Cluster) -> Result<(), Refusal> {
    let Some(data) = given(cluster.certificate_authority_data.as_deref()) else { return Ok(()) };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(data, AUTHORITIES)? {
        roots.add(certificate).map_err(|_| refused(AUTHORITIES, NO_CERTIFICATES))?;
    }
    Ok(())
}

/// Refuses a certificate and a key that are none, or don't belong together. One that is in a file is not looked at.
pub(crate) fn check_identity(user: &AuthInfo) -> Result<(), Refusal> {
    let certificate = given(user.client_certificate_data.as_deref());
    let key = given(user.client_key_data.as_ref().map(ExposeSecret::expose_secret));
    let chain = certificate.map(|data| certificates(data, CERTIFICATE)).transpose()?;
    let key = key.map(private_key).transpose()?;
    match (chain, key) {
        (Some(chain), Some(key)) => check_pair(chain, key),
        (Some(_), None) if user.client_key.is_none() => {
            Err(refused(KEY, "must be set beside the certificate"))
        }
        (None, Some(_)) if user.client_certificate.is_none() => {
            Err(refused(CERTIFICATE, "must be set beside the key"))
        }
        _ => Ok(()),
    }
}

/// An empty text is an absent one, as for kubectl.
fn given(data: Option<&str>) -> Option<&str> {
    data.filter(|data| !data.is_empty())
}

fn certificates(data: &str, path: &'static str) -> Result<Vec<CertificateDer<'static>>, Refusal> {
    let refused = || refused(path, NO_CERTIFICATES);
    let pem = STANDARD.decode(data).map_err(|_| refused())?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    chain.ok().filter(|chain| !chain.is_empty()).ok_or_else(refused)
}

fn private_key(data: &str) -> Result<PrivateKeyDer<'static>, Refusal> {
    let pem = STANDARD.decode(data).ok();
    let key = pem.and_then(|pem| PrivateKeyDer::from_pem_slice(&pem).ok());
    key.ok_or_else(|| refused(KEY, "must be base64 of a private key in PEM"))
}

fn check_pair(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<(), Refusal> {
    match CertifiedKey::from_der(chain, key, &rustls::crypto::ring::default_provider()) {
        Ok(_) => Ok(()),
        Err(Error::InconsistentKeys(_)) => Err(refused(KEY, "must be the key of client-certificate-data")),
        Err(Error::InvalidCertificate(_)) => Err(refused(CERTIFICATE, NO_CERTIFICATES)),
        Err(_) => {
            Err(refused(KEY, "must be a key that TLS can use: ECDSA, Ed25519, or RSA of 2048 bits or more"))
        }
    }
}
