//! Certificates and keys in files.

use std::io;
use std::path::{Path, PathBuf};

use dcm_tls::{KeyError, PairError};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::server::VerifierBuilderError;
use rustls::sign::CertifiedKey;

use super::Files;
use crate::live::{read_file, rights_of_others};

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file can't be read.
    #[error("{} can't be read", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file of certificates is none.
    #[error("{} is no PEM file of certificates", file.display())]
    Pem {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        source: pem::Error,
    },
    /// A file has no certificate.
    #[error("there is no certificate in {}", file.display())]
    NoCertificate {
        /// The file.
        file: PathBuf,
    },
    /// Anybody has rights to the key's file.
    #[error(
        "others have rights to the key {0}; run `chmod o= {0}`, or, where it is a mounted secret of Kubernetes, set `defaultMode: 0440`",
        file.display()
    )]
    KeyOpen {
        /// The file.
        file: PathBuf,
    },
    /// A key's file has no key that can be used.
    #[error("the key {} can't be used", file.display())]
    NoKey {
        /// The file.
        file: PathBuf,
        /// What it is.
        source: KeyError,
    },
    /// The certificate and the key do not fit, or one of them is of a kind that is not known.
    #[error("the certificate {} and the key {} make no pair", files.certificate.display(), files.key.display())]
    Pair {
        /// The files.
        files: Files,
        /// What is wrong with them.
        source: PairError,
    },
    /// What is to be an authority can't be one.
    #[error("{} has a certificate that can't be an authority", file.display())]
    Authority {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        source: rustls::Error,
    },
    /// Nobody could be verified by the authorities.
    #[error("nobody can be verified by the authorities in {}", file.display())]
    Verifier {
        /// The file.
        file: PathBuf,
        /// What is wrong with them.
        source: VerifierBuilderError,
    },
    /// The system has no authorities, and no file names others.
    #[error("the system has no certificate authorities; name some in a file")]
    NoSystemAuthorities(#[source] io::Error),
    /// The versions and the algorithms don't fit: a mistake of this crate.
    #[error("TLS can't be configured")]
    Configure(#[source] rustls::Error),
}

impl Error {
    /// Whether the same files can be used later without anybody doing something about them: never.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        false
    }
}

/// The certificates of authorities in a PEM file; at least one.
///
/// # Errors
/// A file that can't be read, or has none.
pub fn authorities(file: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    certificates(file, &read(file)?)
}

pub(super) fn read(file: &Path) -> Result<Vec<u8>, Error> {
    read_file(file, |_| Ok(()), |source| Error::Read { file: file.to_owned(), source })
}

pub(super) fn read_key(file: &Path) -> Result<Vec<u8>, Error> {
    let check = |metadata: &_| match rights_of_others(metadata) {
        0 => Ok(()),
        _ => Err(Error::KeyOpen { file: file.to_owned() }),
    };
    read_file(file, check, |source| Error::Read { file: file.to_owned(), source })
}

fn certificates(file: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Error> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates = read.map_err(|source| Error::Pem { file: file.to_owned(), source })?;
    if certificates.is_empty() {
        return Err(Error::NoCertificate { file: file.to_owned() });
    }
    Ok(certificates)
}

/// A pair of a certificate, with its chain, and its key.
pub(super) fn pair(files: &Files, certificate: &[u8], key: &[u8]) -> Result<CertifiedKey, Error> {
    let chain = certificates(&files.certificate, certificate)?;
    let key = dcm_tls::private_key(key);
    let key = key.map_err(|source| Error::NoKey { file: files.key.clone(), source })?;
    dcm_tls::pair(chain, key).map_err(|source| Error::Pair { files: files.clone(), source })
}
