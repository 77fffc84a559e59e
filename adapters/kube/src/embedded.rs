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
use dcm_tls::{KeyError, PairError};
use kube::config::{AuthInfo, Cluster};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use secrecy::ExposeSecret;

use crate::failure::unusable;
use crate::kubeconfig::Refusal;

/// Largest file that a kubeconfig names and that is read, in bytes. A bundle of authorities of a whole system has 250 KiB.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

const AUTHORITIES: &str = "clusters[].cluster.certificate-authority-data";
const CERTIFICATE: &str = "users[].user.client-certificate-data";
const KEY: &str = "users[].user.client-key-data";

const NO_CERTIFICATES: &str = "must be base64 of certificates in PEM";

fn refused(path: &'static str, rule: &'static str) -> Refusal {
    Refusal::Field { path: path.into(), rule }
}

fn unsupported(path: &'static str, found: &impl ToString) -> Refusal {
    Refusal::Unsupported { path, found: found.to_string() }
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
        user.client_key_data = Some(STANDARD.encode(key.pem.expose()).into());
    }
    match (chain, key) {
        (Some(chain), Some(key)) => check_pair(chain, key.der),
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
    let (certificate, key) = (user.client_certificate.take(), user.client_key.take());
    if certificate.is_none() && key.is_none() {
        return Ok(());
    }
    if let Some(file) = certificate {
        let unusable = |_| unusable("users[].user.client-certificate: can't be read");
        user.client_certificate_data = Some(STANDARD.encode(read_file(file).map_err(unusable)?));
    }
    if let Some(file) = key {
        let unusable = |_| unusable("users[].user.client-key: can't be read");
        user.client_key_data = Some(STANDARD.encode(read_file(file).map_err(unusable)?).into());
    }
    // What a file has is no base64, and its field has no `-data`.
    settle_identity(user)
        .map_err(|refusal| unusable(&refusal.to_string().replace("-data", "").replace("base64 of ", "")))
}

fn certificates(data: &str) -> Result<Certificates, Refusal> {
    let chain = STANDARD.decode(data).map(|pem| Certificates::of(&pem)).ok();
    let chain = chain.filter(|chain| !chain.readable.is_empty());
    chain.ok_or_else(|| refused(CERTIFICATE, NO_CERTIFICATES))
}

/// A private key, as PEM and as TLS takes it.
struct Key {
    pem: Secret,
    der: PrivateKeyDer<'static>,
}

impl Key {
    /// Finds the first one of a text, as Go does.
    fn of(text: &[u8]) -> Result<Self, KeyError> {
        let pem = kubeconfig::private_key(text);
        let der = dcm_tls::private_key(pem.as_ref().map_or(text, |pem| pem.expose().as_bytes()))?;
        Ok(Self { pem: pem.ok_or(KeyError::Missing)?, der })
    }
}

fn private_key(data: &str) -> Result<Key, Refusal> {
    let missing = || refused(KEY, "must be base64 of a private key in PEM");
    let pem = STANDARD.decode(data).map_err(|_| missing())?;
    Key::of(&pem).map_err(|error| match error {
        KeyError::Missing => missing(),
        other => unsupported(KEY, &other),
    })
}

fn check_pair(chain: Certificates, key: PrivateKeyDer<'static>) -> Result<(), Refusal> {
    let chain = chain.readable.into_iter().map(CertificateDer::from).collect();
    dcm_tls::pair(chain, key).map(drop).map_err(|error| match error {
        PairError::Mismatch => refused(KEY, "must be the key of client-certificate-data"),
        PairError::Certificate(_) => refused(CERTIFICATE, NO_CERTIFICATES),
        PairError::Unsupported(found) => unsupported(CERTIFICATE, &found),
        PairError::Key(_) => unsupported(KEY, &error),
    })
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
