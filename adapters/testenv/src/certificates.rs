//! The authorities, certificates and keys of a server, made at run time, with X.509 version 3 throughout.

mod groups;
mod signer;

use std::fmt;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};

pub use self::groups::Error as SubjectError;
pub use self::signer::{Hash, KeyKind, Serving, Signer};

/// Why a certificate could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No key could be generated.
    #[error("could not generate the key for {common_name}")]
    GenerateKey {
        /// The common name that the key was for.
        common_name: String,
        /// What the certificate library said.
        source: rcgen::Error,
    },
    /// The certificate could not be signed.
    #[error("could not sign the certificate of {common_name}")]
    Sign {
        /// The common name that the certificate was for.
        common_name: String,
        /// What the certificate library said.
        source: rcgen::Error,
    },
    /// The groups could not be written into the certificate.
    #[error("could not write the groups into the certificate of {common_name}")]
    Groups {
        /// The common name that the certificate was for.
        common_name: String,
        /// What failed.
        source: SubjectError,
    },
    /// What was made could not be signed again with another algorithm.
    #[error("could not sign by {algorithm}")]
    SignAgain {
        /// The kind of key, and the hash.
        algorithm: String,
        /// What failed.
        source: SubjectError,
    },
}

impl Error {
    /// Whether the same call can succeed later: never.
    pub fn is_retryable(&self) -> bool {
        false
    }
}

/// Who a client is: a certificate with its private key, both as PEM.
///
/// The user name that an API server sees is the common name, the groups are the organizations.
#[derive(Clone)]
pub struct Identity {
    certificate: String,
    key: String,
}

impl Identity {
    /// An identity from a certificate and its key that were made elsewhere, for example from an issued CSR.
    pub fn new(certificate: impl Into<String>, key: impl Into<String>) -> Self {
        Self { certificate: certificate.into(), key: key.into() }
    }

    /// The certificate as PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// The private key as PEM (PKCS #8).
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Identity").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// A certificate authority of a server.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn generate(common_name: &str) -> Result<Self, Error> {
        let mut params = subject(common_name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = generate_key(common_name)?;
        CertifiedIssuer::self_signed(params, key)
            .map(Self)
            .map_err(|source| Error::Sign { common_name: common_name.to_owned(), source })
    }

    pub(crate) fn certificate(&self) -> String {
        self.0.pem()
    }

    pub(crate) fn key(&self) -> String {
        self.0.key().serialize_pem()
    }

    pub(crate) fn issue_client(&self, common_name: &str, groups: &[&str]) -> Result<Identity, Error> {
        self.issue_client_for(common_name, groups, &generate_key(common_name)?)
    }

    /// Issues a client certificate for a key that is there.
    pub(crate) fn issue_client_for(
        &self,
        common_name: &str,
        groups: &[&str],
        key: &KeyPair,
    ) -> Result<Identity, Error> {
        let mut params = subject(common_name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = self.sign(common_name, params, key)?;
        let certificate = groups::replace_subject(certificate.der(), common_name, groups, self.0.key())
            .map_err(|source| Error::Groups { common_name: common_name.to_owned(), source })?;
        Ok(Identity::new(certificate, key.serialize_pem()))
    }

    /// Issues a serving certificate; the names may be host names or IP addresses.
    pub(crate) fn issue_server(&self, common_name: &str, names: &[&str]) -> Result<Identity, Error> {
        let params = server_parameters(common_name, names)?;
        let key = generate_key(common_name)?;
        let certificate = self.sign(common_name, params, &key)?;
        Ok(Identity::new(certificate.pem(), key.serialize_pem()))
    }

    fn sign(
        &self,
        common_name: &str,
        mut params: CertificateParams,
        key: &KeyPair,
    ) -> Result<Certificate, Error> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        params
            .signed_by(key, &self.0)
            .map_err(|source| Error::Sign { common_name: common_name.to_owned(), source })
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Authority").finish_non_exhaustive()
    }
}

fn server_parameters(common_name: &str, names: &[&str]) -> Result<CertificateParams, Error> {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names)
        .map_err(|source| Error::Sign { common_name: common_name.to_owned(), source })?;
    params.distinguished_name = distinguished_name(common_name);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    Ok(params)
}

pub(crate) fn generate_key(common_name: &str) -> Result<KeyPair, Error> {
    KeyPair::generate().map_err(|source| Error::GenerateKey { common_name: common_name.to_owned(), source })
}

fn subject(common_name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = distinguished_name(common_name);
    params
}

fn distinguished_name(common_name: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    name
}
