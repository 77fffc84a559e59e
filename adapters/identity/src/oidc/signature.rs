//! Signatures of tokens, by `aws-lc-rs`.
//!
//! The crate that reads the tokens brings other implementations of cryptography for this, or has one installed for the whole process,
//! which would take signing away from a program that uses the same crate. One function is less.

use aws_lc_rs::signature::{
    self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use jsonwebtoken::Algorithm;

/// A public key.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum PublicKey {
    /// Modulus and exponent.
    Rsa { n: Vec<u8>, e: Vec<u8> },
    /// A point of the curve P-256.
    P256(Vec<u8>),
    /// A point of the curve P-384.
    P384(Vec<u8>),
    /// A point of the curve of Ed25519.
    Ed25519(Vec<u8>),
}

impl PublicKey {
    /// True when it can check signatures by an algorithm.
    pub(super) fn fits(&self, algorithm: Algorithm) -> bool {
        match self {
            Self::Rsa { .. } => rsa(algorithm).is_some(),
            Self::P256(_) => algorithm == Algorithm::ES256,
            Self::P384(_) => algorithm == Algorithm::ES384,
            Self::Ed25519(_) => algorithm == Algorithm::EdDSA,
        }
    }

    /// True when the signature is by this key, of this message, with this algorithm.
    pub(super) fn has_signed(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let checked = |by: &'static dyn VerificationAlgorithm, point: &[u8]| {
            self.fits(algorithm) && UnparsedPublicKey::new(by, point).verify(message, signature).is_ok()
        };
        match self {
            Self::Rsa { n, e } => rsa(algorithm)
                .is_some_and(|by| RsaPublicKeyComponents { n, e }.verify(by, message, signature).is_ok()),
            Self::P256(point) => checked(&signature::ECDSA_P256_SHA256_FIXED, point),
            Self::P384(point) => checked(&signature::ECDSA_P384_SHA384_FIXED, point),
            Self::Ed25519(point) => checked(&signature::ED25519, point),
        }
    }
}

/// RSA keys have 2048 to 8192 bits; smaller ones are no more safe.
fn rsa(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    Some(match algorithm {
        Algorithm::RS256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        Algorithm::RS384 => &signature::RSA_PKCS1_2048_8192_SHA384,
        Algorithm::RS512 => &signature::RSA_PKCS1_2048_8192_SHA512,
        Algorithm::PS256 => &signature::RSA_PSS_2048_8192_SHA256,
        Algorithm::PS384 => &signature::RSA_PSS_2048_8192_SHA384,
        Algorithm::PS512 => &signature::RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}
