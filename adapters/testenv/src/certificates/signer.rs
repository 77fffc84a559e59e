//! Keys of other kinds, and signatures with other hashes, than everything else here has.
//!
//! rcgen signs with one hash for each kind of key. So what it made is signed again, with the algorithm that it is to have.

use std::fmt;

use aws_lc_rs::digest::{self, Digest};
use aws_lc_rs::encoding::{AsDer as _, EcPrivateKeyRfc5915Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    self, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, RsaEncoding, RsaKeyPair,
};
use der::asn1::{Any, BitString, OctetString};
use der::pem::LineEnding;
use der::{Decode as _, Encode as _, Tag};
use rcgen::{
    BasicConstraints, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ECDSA_P521_SHA512, PKCS_ED25519, PKCS_RSA_SHA256,
    RsaKeySize,
};
use tokio_rustls::rustls::pki_types::{AlgorithmIdentifier, alg_id};

use super::{Error, Identity, SubjectError, server_parameters, subject};

/// The part of a certificate that is signed: version, serial number, algorithm, issuer, validity, subject, key, extensions.
const ALGORITHM: usize = 2;

/// A kind of key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// ECDSA on the curve P-256.
    P256,
    /// ECDSA on the curve P-384.
    P384,
    /// ECDSA on the curve P-521.
    P521,
    /// Ed25519.
    Ed25519,
    /// RSA of 2048 bits.
    Rsa2048,
    /// RSA of 3072 bits.
    Rsa3072,
    /// RSA of 4096 bits.
    Rsa4096,
}

/// The hash of a signature; Ed25519 has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hash {
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

/// A key, and how it signs.
pub struct Signer {
    kind: KeyKind,
    hash: Hash,
    is_pss: bool,
    pair: KeyPair,
}

impl Signer {
    /// Makes a key.
    ///
    /// # Errors
    /// When the cryptography library makes none.
    pub fn generate(kind: KeyKind, hash: Hash) -> Result<Self, Error> {
        let pair = match kind {
            KeyKind::P256 => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256),
            KeyKind::P384 => KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384),
            KeyKind::P521 => KeyPair::generate_for(&PKCS_ECDSA_P521_SHA512),
            KeyKind::Ed25519 => KeyPair::generate_for(&PKCS_ED25519),
            KeyKind::Rsa2048 => KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048),
            KeyKind::Rsa3072 => KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_3072),
            KeyKind::Rsa4096 => KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_4096),
        };
        let generate = |source| Error::GenerateKey { common_name: format!("{kind:?}"), source };
        Ok(Self { kind, hash, is_pss: false, pair: pair.map_err(generate)? })
    }

    /// The same RSA key, which signs by RSASSA-PSS.
    #[must_use]
    pub fn with_pss(self) -> Self {
        Self { is_pss: true, ..self }
    }

    /// The key as PEM of PKCS #8.
    pub fn key(&self) -> String {
        self.pair.serialize_pem()
    }

    /// The key as PEM of its older form: PKCS #1 for RSA, and SEC 1 for ECDSA. Ed25519 has none.
    ///
    /// # Errors
    /// When the key can't be taken apart.
    pub fn older_key(&self) -> Result<Option<String>, Error> {
        let der = self.pair.serialized_der();
        let (label, bytes) = match (self.kind, self.ecdsa()) {
            (KeyKind::Ed25519, _) => return Ok(None),
            (_, Some(by)) => {
                let pair = EcdsaKeyPair::from_pkcs8(by, der).map_err(|source| self.rejected(&source))?;
                let bytes: EcPrivateKeyRfc5915Der<'_> =
                    pair.private_key().as_der().map_err(|_| self.failed(SubjectError::Sign(UNSPECIFIED)))?;
                ("EC PRIVATE KEY", bytes.as_ref().to_vec())
            }
            (_, None) => {
                let encoding = |source: der::Error| self.failed(source.into());
                let parts: Vec<Any> = Vec::from_der(der).map_err(encoding)?;
                let key = parts.get(2).ok_or_else(|| self.failed(SubjectError::NoSubject))?;
                let key: OctetString = key.decode_as().map_err(encoding)?;
                ("RSA PRIVATE KEY", key.as_bytes().to_vec())
            }
        };
        self.pem(label, &bytes).map(Some)
    }

    /// A certificate signing request of this key for a subject, as PEM.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn request(&self, organization: &str, common_name: &str) -> Result<String, Error> {
        let mut parameters = subject(common_name);
        let mut name = DistinguishedName::new();
        name.push(DnType::OrganizationName, organization);
        name.push(DnType::CommonName, common_name);
        parameters.distinguished_name = name;
        let made = parameters
            .serialize_request(&self.pair)
            .map_err(|source| self.failed(SubjectError::Sign(source)))?;
        self.pem("CERTIFICATE REQUEST", &self.sign_again(made.der(), false)?)
    }

    /// An authority with this key, and the certificate of a server that it signed: for a name and 127.0.0.1, with a key.
    ///
    /// # Errors
    /// When they can't be made.
    pub fn serving(&self, name: &str, key: &Self) -> Result<Serving, Error> {
        let failed = |source| self.failed(SubjectError::Sign(source));
        let mut authority = subject(&format!("{name} authority"));
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let issuer = CertifiedIssuer::self_signed(authority, &self.pair).map_err(failed)?;
        let mut server = server_parameters(name, &[name, "127.0.0.1"])?;
        server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        server.use_authority_key_identifier_extension = true;
        let server = server.signed_by(&key.pair, &issuer).map_err(failed)?;
        let certificate = |der: &[u8]| self.pem("CERTIFICATE", &self.sign_again(der, true)?);
        Ok(Serving {
            name: name.to_owned(),
            authority: certificate(issuer.der())?,
            identity: Identity::new(certificate(server.der())?, key.key()),
        })
    }

    pub(crate) fn pair(&self) -> &KeyPair {
        &self.pair
    }

    fn sign_again(&self, der: &[u8], is_certificate: bool) -> Result<Vec<u8>, Error> {
        self.signed_again(der, is_certificate).map_err(|source| self.failed(source))
    }

    fn signed_again(&self, der: &[u8], is_certificate: bool) -> Result<Vec<u8>, SubjectError> {
        let mut parts: Vec<Any> = Vec::from_der(der)?;
        let [signed, algorithm, signature] = parts.as_mut_slice() else {
            return Err(SubjectError::NoSubject);
        };
        let identifier: &[u8] = &self.algorithm();
        *algorithm = Any::new(Tag::Sequence, identifier)?;
        if is_certificate {
            let mut inner: Vec<Any> = signed.decode_as()?;
            *inner.get_mut(ALGORITHM).ok_or(SubjectError::NoSubject)? = algorithm.clone();
            *signed = Any::encode_from(&inner)?;
        }
        let bytes = self.sign(&signed.to_der()?)?;
        *signature = Any::encode_from(&BitString::from_bytes(&bytes)?)?;
        Ok(parts.to_der()?)
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SubjectError> {
        let der = self.pair.serialized_der();
        if let Some(by) = self.ecdsa() {
            let pair =
                EcdsaKeyPair::from_pkcs8(by, der).map_err(|source| SubjectError::Sign(rejected(&source)))?;
            let signature =
                pair.sign_digest(&self.digest(message)?).map_err(|_| SubjectError::Sign(UNSPECIFIED))?;
            return Ok(signature.as_ref().to_vec());
        }
        if self.kind == KeyKind::Ed25519 {
            let pair =
                Ed25519KeyPair::from_pkcs8(der).map_err(|source| SubjectError::Sign(rejected(&source)))?;
            return Ok(pair.sign(message).as_ref().to_vec());
        }
        let pair = RsaKeyPair::from_pkcs8(der).map_err(|source| SubjectError::Sign(rejected(&source)))?;
        let mut signature = vec![0; pair.public_modulus_len()];
        let random = SystemRandom::new();
        pair.sign(self.encoding(), &random, message, &mut signature)
            .map_err(|_| SubjectError::Sign(UNSPECIFIED))?;
        Ok(signature)
    }

    /// ECDSA takes the first bits of a hash that is longer than the curve, and any shorter one as a number. The library signs with one
    /// hash for each of the smaller curves, and so gets the others in that one's length.
    fn digest(&self, message: &[u8]) -> Result<Digest, SubjectError> {
        let hashed = digest::digest(self.hash(), message);
        let wanted = match self.kind {
            KeyKind::P256 => &digest::SHA256,
            KeyKind::P384 => &digest::SHA384,
            _ => return Ok(hashed),
        };
        let mut bytes = hashed.as_ref().to_vec();
        let missing = wanted.output_len().saturating_sub(bytes.len());
        bytes.splice(0..0, vec![0; missing]);
        bytes.truncate(wanted.output_len());
        Digest::import_less_safe(&bytes, wanted).map_err(|_| SubjectError::Sign(UNSPECIFIED))
    }

    fn hash(&self) -> &'static digest::Algorithm {
        match self.hash {
            Hash::Sha256 => &digest::SHA256,
            Hash::Sha384 => &digest::SHA384,
            Hash::Sha512 => &digest::SHA512,
        }
    }

    fn ecdsa(&self) -> Option<&'static EcdsaSigningAlgorithm> {
        Some(match (self.kind, self.hash) {
            (KeyKind::P256, _) => &signature::ECDSA_P256_SHA256_ASN1_SIGNING,
            (KeyKind::P384, _) => &signature::ECDSA_P384_SHA384_ASN1_SIGNING,
            (KeyKind::P521, Hash::Sha256) => &signature::ECDSA_P521_SHA256_ASN1_SIGNING,
            (KeyKind::P521, Hash::Sha384) => &signature::ECDSA_P521_SHA384_ASN1_SIGNING,
            (KeyKind::P521, Hash::Sha512) => &signature::ECDSA_P521_SHA512_ASN1_SIGNING,
            _ => return None,
        })
    }

    fn encoding(&self) -> &'static dyn RsaEncoding {
        match (self.is_pss, self.hash) {
            (false, Hash::Sha256) => &signature::RSA_PKCS1_SHA256,
            (false, Hash::Sha384) => &signature::RSA_PKCS1_SHA384,
            (false, Hash::Sha512) => &signature::RSA_PKCS1_SHA512,
            (true, Hash::Sha256) => &signature::RSA_PSS_SHA256,
            (true, Hash::Sha384) => &signature::RSA_PSS_SHA384,
            (true, Hash::Sha512) => &signature::RSA_PSS_SHA512,
        }
    }

    fn algorithm(&self) -> AlgorithmIdentifier {
        if self.kind == KeyKind::Ed25519 {
            return alg_id::ED25519;
        }
        match (self.ecdsa().is_some(), self.is_pss, self.hash) {
            (true, _, Hash::Sha256) => alg_id::ECDSA_SHA256,
            (true, _, Hash::Sha384) => alg_id::ECDSA_SHA384,
            (true, _, Hash::Sha512) => alg_id::ECDSA_SHA512,
            (false, false, Hash::Sha256) => alg_id::RSA_PKCS1_SHA256,
            (false, false, Hash::Sha384) => alg_id::RSA_PKCS1_SHA384,
            (false, false, Hash::Sha512) => alg_id::RSA_PKCS1_SHA512,
            (false, true, Hash::Sha256) => alg_id::RSA_PSS_SHA256,
            (false, true, Hash::Sha384) => alg_id::RSA_PSS_SHA384,
            (false, true, Hash::Sha512) => alg_id::RSA_PSS_SHA512,
        }
    }

    fn pem(&self, label: &'static str, der: &[u8]) -> Result<String, Error> {
        let pem = der::pem::encode_string(label, LineEnding::LF, der);
        pem.map_err(|source| self.failed(der::Error::from(source).into()))
    }

    fn rejected(&self, source: &impl ToString) -> Error {
        self.failed(SubjectError::Sign(rejected(source)))
    }

    fn failed(&self, source: SubjectError) -> Error {
        Error::SignAgain { algorithm: format!("{:?} with {:?}", self.kind, self.hash), source }
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, hash, is_pss, .. } = self;
        write!(formatter, "Signer({kind:?}, {hash:?}, pss: {is_pss})")
    }
}

const UNSPECIFIED: rcgen::Error = rcgen::Error::RingUnspecified;

fn rejected(source: &impl ToString) -> rcgen::Error {
    rcgen::Error::RingKeyRejected(source.to_string())
}

/// A certificate of a server for one name, and the authority that signed it.
#[derive(Debug, Clone)]
pub struct Serving {
    /// The name that a client asks for.
    pub name: String,
    /// The authority, as PEM.
    pub authority: String,
    /// The certificate and its key.
    pub identity: Identity,
}
