//! Which keys and signatures of X.509 are supported, and names for those that are not.
//!
//! All that Go's `crypto/x509` verifies, and Kubernetes with it, is supported, but for weak algorithms: ECDSA on P-256, P-384 and P-521 and
//! RSA of 2048 bits or more, each with SHA-256, SHA-384 or SHA-512, RSASSA-PSS with a salt of the hash's length, and Ed25519. SHA-1, RSA
//! below 2048 bits and P-224 are not, although Go takes some of them.

use aws_lc_rs::signature::{self, VerificationAlgorithm};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;
use x509_parser::public_key::{PublicKey, RSAPublicKey};
use x509_parser::signature_algorithm::RsaSsaPssParams;
use x509_parser::x509::{AlgorithmIdentifier, SubjectPublicKeyInfo};

use super::{algorithm_names, distinguished_name};

/// The keys that are supported, for messages.
pub const KEYS: &str = "ECDSA P-256, P-384 or P-521, Ed25519, or RSA of 2048 to 8192 bits";

/// The signatures that are supported, for messages.
pub const SIGNATURES: &str = "ECDSA, RSA or RSASSA-PSS with SHA-256, SHA-384 or SHA-512 (for RSASSA-PSS with a salt as long as the \
                              hash), or Ed25519";

/// Shortest RSA key that is supported, in bits (NIST SP 800-131A).
const RSA_BITS_MIN: usize = 2048;
/// Longest RSA key that is supported, in bits: TLS libraries refuse longer ones.
const RSA_BITS_MAX: usize = 8192;

/// First byte of a point of an elliptic curve that is not compressed.
const UNCOMPRESSED: u8 = 4;

/// The names of the keys that are supported, whatever their length.
const SUPPORTED_KEYS: [&str; 5] = ["ECDSA P-256", "ECDSA P-384", "ECDSA P-521", "Ed25519", "RSA"];

const UNREADABLE: &str = "an unreadable algorithm";

const RSA_PSS: &str = "1.2.840.113549.1.1.10";
const ED25519: &str = "1.3.101.112";
const MGF1: &str = "1.2.840.113549.1.1.8";

/// A key or a signature that is not supported, by name. The same certificate is refused again; no retry helps.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// The certificate's own key.
    #[error("its key is {found}, which is not supported; use {KEYS}")]
    Key {
        /// The key.
        found: String,
    },
    /// The algorithm of its signature.
    #[error("it is signed by {found}, which is not supported; use {SIGNATURES}")]
    Signature {
        /// The algorithm.
        found: String,
    },
    /// The key of the authority that signed it.
    #[error("it is signed by an authority whose key is {found}, which is not supported; use {KEYS}")]
    Signer {
        /// The key.
        found: String,
    },
}

impl Unsupported {
    /// Why a signature was not checked, from the algorithm of the signature and that of the signer's key: the DER of an
    /// AlgorithmIdentifier without its tag and length, as TLS libraries report them. None when the algorithms are supported, and the cause
    /// is another one: the key is not the one that signed.
    #[must_use]
    pub fn of_identifiers(signature: &[u8], signer: Option<&[u8]>) -> Option<Self> {
        match signer {
            None => match read_identifier(signature, |read| (Signature::read(read), signature_name(read))) {
                Some((Some(_), _)) => None,
                Some((None, found)) => Some(Self::Signature { found }),
                None => Some(Self::Signature { found: UNREADABLE.to_owned() }),
            },
            Some(signer) => {
                let found = read_identifier(signer, algorithm_names::key);
                let found = found.unwrap_or_else(|| UNREADABLE.to_owned());
                (!SUPPORTED_KEYS.contains(&found.as_str())).then_some(Self::Signer { found })
            }
        }
    }
}

fn read_identifier<T>(identifier: &[u8], use_read: impl FnOnce(&AlgorithmIdentifier<'_>) -> T) -> Option<T> {
    AlgorithmIdentifier::from_der(&sequence(identifier)?).ok().map(|(_, read)| use_read(&read))
}

/// A sequence (ITU-T X.690, section 8.9) with this content. None for one of 64 KiB or more, which no certificate has.
fn sequence(content: &[u8]) -> Option<Vec<u8>> {
    let [high, low] = u16::try_from(content.len()).ok()?.to_be_bytes();
    let head: &[u8] = match (high, low) {
        (0, 0..0x80) => &[0x30, low],
        (0, _) => &[0x30, 0x81, low],
        _ => &[0x30, 0x82, high, low],
    };
    Some([head, content].concat())
}

/// The name of a certificate's (DER) subject, and whether it is also the name of its issuer. None for a certificate that can't be read.
#[must_use]
pub fn subject_name(certificate_der: &[u8]) -> Option<(String, bool)> {
    let (_, certificate) = X509Certificate::from_der(certificate_der).ok()?;
    let is_own_issuer = certificate.subject().as_raw() == certificate.issuer().as_raw();
    Some((distinguished_name::shown(certificate.subject()), is_own_issuer))
}

/// The signature of a certificate (DER), if its algorithm is not supported.
#[must_use]
pub fn unsupported_signature(certificate_der: &[u8]) -> Option<Unsupported> {
    let (_, certificate) = X509Certificate::from_der(certificate_der).ok()?;
    let algorithm = &certificate.signature_algorithm;
    let is_supported = Signature::read(algorithm).is_some();
    (!is_supported).then(|| Unsupported::Signature { found: signature_name(algorithm) })
}

/// The key of the authority that signed a certificate (DER), if it is not supported. The authority is given by its name and its
/// SubjectPublicKeyInfo, each the DER without tag and length; one of another name than the certificate's issuer gives none.
#[must_use]
pub fn unsupported_signer(certificate_der: &[u8], name: &[u8], key: &[u8]) -> Option<Unsupported> {
    let (_, certificate) = X509Certificate::from_der(certificate_der).ok()?;
    if certificate.issuer().as_raw() != sequence(name)? {
        return None;
    }
    let key = sequence(key)?;
    let (_, key) = SubjectPublicKeyInfo::from_der(&key).ok()?;
    check_key(&key).err().map(|found| Unsupported::Signer { found })
}

/// The key of a certificate (DER), if it is not supported.
#[must_use]
pub fn unsupported_key(certificate_der: &[u8]) -> Option<Unsupported> {
    let (_, certificate) = X509Certificate::from_der(certificate_der).ok()?;
    check_key(certificate.public_key()).err().map(|found| Unsupported::Key { found })
}

/// A key that is supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    P256,
    P384,
    P521,
    Ed25519,
    Rsa,
}

/// A kind of signature that is supported, with its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signature {
    Ecdsa(Hash),
    Rsa(Hash),
    RsaPss(Hash),
    Ed25519,
}

/// A hash that is supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

impl Hash {
    fn of_name(name: &str) -> Option<Self> {
        match name {
            "SHA-256" => Some(Self::Sha256),
            "SHA-384" => Some(Self::Sha384),
            "SHA-512" => Some(Self::Sha512),
            _ => None,
        }
    }

    fn bytes(self) -> u32 {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }
}

/// The key, or the name of one that is not supported.
pub(crate) fn check_key(key: &SubjectPublicKeyInfo<'_>) -> Result<Key, String> {
    let name = || algorithm_names::key(&key.algorithm);
    let Ok(parsed) = key.parsed() else { return Err(format!("{}, and unreadable", name())) };
    match parsed {
        PublicKey::EC(point) => {
            let known = match algorithm_names::curve(&key.algorithm).as_deref() {
                Some("P-256") => Key::P256,
                Some("P-384") => Key::P384,
                Some("P-521") => Key::P521,
                _ => return Err(name()),
            };
            let is_plain = point.data().first() == Some(&UNCOMPRESSED);
            if is_plain { Ok(known) } else { Err(format!("{} as a compressed point", name())) }
        }
        PublicKey::RSA(rsa) => match rsa_bits(&rsa) {
            RSA_BITS_MIN..=RSA_BITS_MAX => Ok(Key::Rsa),
            bits => Err(rsa_name(bits)),
        },
        _ if key.algorithm.algorithm.to_id_string() == ED25519 => Ok(Key::Ed25519),
        _ => Err(name()),
    }
}

impl Signature {
    /// The signature's kind and hash; none when it is not supported.
    pub(crate) fn read(algorithm: &AlgorithmIdentifier<'_>) -> Option<Self> {
        let id = algorithm.algorithm.to_id_string();
        let (kind, hash): (fn(Hash) -> Self, _) = match id.as_str() {
            "1.2.840.10045.4.3.2" => (Self::Ecdsa, Hash::Sha256),
            "1.2.840.10045.4.3.3" => (Self::Ecdsa, Hash::Sha384),
            "1.2.840.10045.4.3.4" => (Self::Ecdsa, Hash::Sha512),
            "1.2.840.113549.1.1.11" => (Self::Rsa, Hash::Sha256),
            "1.2.840.113549.1.1.12" => (Self::Rsa, Hash::Sha384),
            "1.2.840.113549.1.1.13" => (Self::Rsa, Hash::Sha512),
            RSA_PSS => (Self::RsaPss, pss_hash(algorithm)?),
            ED25519 if algorithm.parameters.is_none() => return Some(Self::Ed25519),
            _ => return None,
        };
        Some(kind(hash))
    }

    /// How a signature of this kind by a key is verified; none when no such key makes one.
    pub(crate) fn verification(self, key: Key) -> Option<&'static dyn VerificationAlgorithm> {
        use Hash::{Sha256, Sha384, Sha512};
        Some(match (self, key) {
            (Self::Ecdsa(Sha256), Key::P256) => &signature::ECDSA_P256_SHA256_ASN1,
            (Self::Ecdsa(Sha384), Key::P256) => &signature::ECDSA_P256_SHA384_ASN1,
            (Self::Ecdsa(Sha512), Key::P256) => &signature::ECDSA_P256_SHA512_ASN1,
            (Self::Ecdsa(Sha256), Key::P384) => &signature::ECDSA_P384_SHA256_ASN1,
            (Self::Ecdsa(Sha384), Key::P384) => &signature::ECDSA_P384_SHA384_ASN1,
            (Self::Ecdsa(Sha512), Key::P384) => &signature::ECDSA_P384_SHA512_ASN1,
            (Self::Ecdsa(Sha256), Key::P521) => &signature::ECDSA_P521_SHA256_ASN1,
            (Self::Ecdsa(Sha384), Key::P521) => &signature::ECDSA_P521_SHA384_ASN1,
            (Self::Ecdsa(Sha512), Key::P521) => &signature::ECDSA_P521_SHA512_ASN1,
            (Self::Rsa(Sha256), Key::Rsa) => &signature::RSA_PKCS1_2048_8192_SHA256,
            (Self::Rsa(Sha384), Key::Rsa) => &signature::RSA_PKCS1_2048_8192_SHA384,
            (Self::Rsa(Sha512), Key::Rsa) => &signature::RSA_PKCS1_2048_8192_SHA512,
            (Self::RsaPss(Sha256), Key::Rsa) => &signature::RSA_PSS_2048_8192_SHA256,
            (Self::RsaPss(Sha384), Key::Rsa) => &signature::RSA_PSS_2048_8192_SHA384,
            (Self::RsaPss(Sha512), Key::Rsa) => &signature::RSA_PSS_2048_8192_SHA512,
            (Self::Ed25519, Key::Ed25519) => &signature::ED25519,
            _ => return None,
        })
    }
}

/// The hash of RSASSA-PSS where all its parameters are as Go wants them: one hash for both purposes, and a salt of its length.
fn pss_hash(algorithm: &AlgorithmIdentifier<'_>) -> Option<Hash> {
    let parameters = RsaSsaPssParams::try_from(algorithm.parameters.as_ref()?).ok()?;
    let mask = parameters.mask_gen_algorithm().ok()?;
    let id = parameters.hash_algorithm_oid();
    let hash = Hash::of_name(&algorithm_names::hash(&id.to_id_string()))?;
    let is_plain = mask.mgf.to_id_string() == MGF1
        && mask.hash == *id
        && parameters.salt_length() == hash.bytes()
        && parameters.trailer_field() == 1;
    is_plain.then_some(hash)
}

/// The name of a signature's algorithm. For RSASSA-PSS with the hash and the salt, which decide whether it is supported.
pub(crate) fn signature_name(algorithm: &AlgorithmIdentifier<'_>) -> String {
    let id = algorithm.algorithm.to_id_string();
    if id != RSA_PSS {
        return algorithm_names::signature(&id);
    }
    let parameters = algorithm.parameters.as_ref().and_then(|any| RsaSsaPssParams::try_from(any).ok());
    let Some(parameters) = parameters else { return "RSASSA-PSS with unreadable parameters".to_owned() };
    let hash = algorithm_names::hash(&parameters.hash_algorithm_oid().to_id_string());
    format!("RSASSA-PSS with {hash} and a salt of {} bytes", parameters.salt_length())
}

fn rsa_name(bits: usize) -> String {
    format!("RSA of {bits} bits")
}

fn rsa_bits(key: &RSAPublicKey<'_>) -> usize {
    let digits: &[u8] = match key.modulus.iter().position(|byte| *byte != 0) {
        Some(first) => &key.modulus[first..],
        None => &[],
    };
    let unused = digits.first().map_or(0, |first| first.leading_zeros() as usize);
    (digits.len() * 8).saturating_sub(unused)
}
