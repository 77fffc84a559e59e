//! Checks of the certificates and keys that a kubeconfig holds itself, before anything is sent. An error names the field.
//!
//! They are found as Go finds them, among other text and other blocks, and left as nothing but themselves.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::kubeconfig::{self, Certificates};
use dcm_core::port::cluster as port;
use dcm_core::secret::Secret;
use kube::config::{AuthInfo, Cluster};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{Error, RootCertStore};
use secrecy::ExposeSecret;

use crate::failure::unusable;
use crate::kubeconfig::Refusal;

/// Largest file that a kubeconfig names and that is read, in bytes. A bundle of authorities of a whole system has 250 KiB.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

const AUTHORITIES: &str = "clusters[].cluster.certificate-authority-data";
const CERTIFICATE: &str = "users[].user.client-certificate-data";
const KEY: &str = "users[].user.client-key-data";

const NO_CERTIFICATES: &str = "must be base64 of certificates in PEM";
const NO_KEY: &str = "must be base64 of a private key in PEM";

fn refused(path: &'static str, rule: &'static str) -> Refusal {
    Refusal::Field { path: path.into(), rule }
}

/// Leaves the authorities that can be used, and refuses those of which none can.
pub(crate) fn settle_authorities(cluster: &mut Cluster) -> Result<(), Refusal> {
    let Some(data) = &cluster.certificate_authority_data else { return Ok(()) };
    let pem = STANDARD.decode(data).map_err(|_| refused(AUTHORITIES, NO_CERTIFICATES))?;
    let mut usable = Certificates::of(&pem);
    let mut roots = RootCertStore::empty();
    usable.readable.retain(|der| roots.add(CertificateDer::from(der.as_slice())).is_ok());
    if usable.readable.is_empty() {
        return Err(refused(AUTHORITIES, NO_CERTIFICATES));
    }
    cluster.certificate_authority_data = Some(STANDARD.encode(usable.to_pem()));
    Ok(())
}

/// Refuses a certificate and a key that are none, or don't belong together. One that is in a file is not looked at. A key without a
/// certificate is not used.
pub(crate) fn settle_identity(user: &mut AuthInfo) -> Result<(), Refusal> {
    if user.client_certificate.is_none() && user.client_certificate_data.is_none() {
        (user.client_key, user.client_key_data) = (None, None);
        return Ok(());
    }
    let chain = user.client_certificate_data.as_deref().map(certificates).transpose()?;
    let key = user.client_key_data.as_ref().map(|data| private_key(data.expose_secret())).transpose()?;
    if let Some(chain) = &chain {
        user.client_certificate_data = Some(STANDARD.encode(chain.to_pem()));
    }
    if let Some(key) = &key {
        user.client_key_data = Some(STANDARD.encode(key.expose()).into());
    }
    match (chain, key) {
        (Some(chain), Some(key)) => check_pair(chain, &key),
        _ => Ok(()),
    }
}

/// Reads a file that a kubeconfig names.
pub(crate) fn read_file(file: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(file)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if read as u64 > FILE_BYTES_MAX { Err(ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// Reads the file that a cluster's authorities are in, and puts what can be used of it into the kubeconfig.
pub(crate) fn read_authorities(cluster: &mut Cluster) -> Result<(), port::Error> {
    let Some(file) = cluster.certificate_authority.take() else { return Ok(()) };
    let unusable = || unusable("clusters[].cluster.certificate-authority: can't be read as certificates");
    cluster.certificate_authority_data = Some(STANDARD.encode(read_file(file).map_err(|_| unusable())?));
    settle_authorities(cluster).map_err(|_| unusable())
}

/// Reads the files that a user's certificate and key are in, and puts what is found in them into the kubeconfig.
pub(crate) fn read_identity(user: &mut AuthInfo) -> Result<(), port::Error> {
    if let Some(file) = user.client_certificate.take() {
        let unusable = || unusable("users[].user.client-certificate: can't be read as certificates");
        let chain = certificates(&STANDARD.encode(read_file(file).map_err(|_| unusable())?));
        user.client_certificate_data = Some(STANDARD.encode(chain.map_err(|_| unusable())?.to_pem()));
    }
    if let Some(file) = user.client_key.take() {
        let unusable = || unusable("users[].user.client-key: can't be read as a private key");
        let pem = read_file(file).map_err(|_| unusable())?;
        let key = kubeconfig::private_key(&pem).ok_or_else(unusable)?;
        user.client_key_data = Some(STANDARD.encode(key.expose()).into());
    }
    Ok(())
}

fn certificates(data: &str) -> Result<Certificates, Refusal> {
    let chain = STANDARD.decode(data).map(|pem| Certificates::of(&pem)).ok();
    let chain = chain.filter(|chain| !chain.readable.is_empty());
    chain.ok_or_else(|| refused(CERTIFICATE, NO_CERTIFICATES))
}

fn private_key(data: &str) -> Result<Secret, Refusal> {
    let key = STANDARD.decode(data).ok().and_then(|pem| kubeconfig::private_key(&pem));
    key.ok_or_else(|| refused(KEY, NO_KEY))
}

fn check_pair(chain: Certificates, key: &Secret) -> Result<(), Refusal> {
    let chain = chain.readable.into_iter().map(CertificateDer::from).collect();
    let key = PrivateKeyDer::from_pem_slice(key.expose().as_bytes()).map_err(|_| refused(KEY, NO_KEY))?;
    match CertifiedKey::from_der(chain, key, &rustls::crypto::ring::default_provider()) {
        Ok(_) => Ok(()),
        Err(Error::InconsistentKeys(_)) => Err(refused(KEY, "must be the key of client-certificate-data")),
        Err(Error::InvalidCertificate(_)) => Err(refused(CERTIFICATE, NO_CERTIFICATES)),
        Err(_) => {
            Err(refused(KEY, "must be a key that TLS can use: ECDSA, Ed25519, or RSA of 2048 bits or more"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit_and_refused_beyond() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(FILE_BYTES_MAX).unwrap();
        assert_eq!(read_file(file.path()).unwrap().len() as u64, FILE_BYTES_MAX);
        file.as_file().set_len(FILE_BYTES_MAX + 1).unwrap();
        assert_eq!(read_file(file.path()).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_file("/dev/zero").unwrap_err().kind(), ErrorKind::FileTooLarge);
    }
}
