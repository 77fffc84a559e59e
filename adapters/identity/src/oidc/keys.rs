//! The keys that an issuer publishes.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse};
use jsonwebtoken::{DecodingKey, DecodingKeyKind};
use serde::Deserialize;
use serde_json::Value;

use super::signature::PublicKey;
use super::token::Token;
use crate::refused::Refused;

/// Most keys that are taken of one issuer: a token that names none is tried with all of them.
const KEYS_MAX: usize = 64;

/// What an issuer publishes. Keys are read one by one: one of an unknown kind takes none of the others away.
#[derive(Deserialize)]
pub(super) struct Published {
    keys: Vec<Value>,
}

/// The keys of an issuer that can check signatures.
#[derive(Default, PartialEq, Eq)]
pub(super) struct KeySet(Vec<Key>);

#[derive(PartialEq, Eq)]
struct Key {
    id: Option<String>,
    /// The only algorithm that it is for, if it says so.
    algorithm: Option<KeyAlgorithm>,
    public: PublicKey,
}

impl KeySet {
    /// Takes the keys that are for signatures.
    pub(super) fn of(published: Published) -> Self {
        Self(published.keys.into_iter().filter_map(Key::read).take(KEYS_MAX).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that one of the keys has signed a token: the one that it names, or any if it names none.
    pub(super) fn verify(&self, token: &Token<'_>) -> Result<(), Refused> {
        let mut fitting = self.0.iter().filter(|key| key.fits(token)).peekable();
        if fitting.peek().is_none() {
            return Err(Refused::Key);
        }
        let has_signed = |key: &Key| key.public.has_signed(token.algorithm, token.message, &token.signature);
        if fitting.any(has_signed) { Ok(()) } else { Err(Refused::Signature) }
    }
}

impl Key {
    fn read(value: Value) -> Option<Self> {
        let key: Jwk = serde_json::from_value(value).ok()?;
        let common = &key.common;
        let is_for_signatures =
            common.public_key_use.as_ref().is_none_or(|usage| *usage == PublicKeyUse::Signature);
        let may_verify =
            common.key_operations.as_ref().is_none_or(|all| all.contains(&KeyOperations::Verify));
        if !is_for_signatures || !may_verify {
            return None;
        }
        Some(Self { public: public(&key)?, id: key.common.key_id, algorithm: key.common.key_algorithm })
    }

    fn fits(&self, token: &Token<'_>) -> bool {
        let is_named = token.key_id.is_none() || token.key_id == self.id;
        let is_for = self.algorithm.is_none_or(|only| only == KeyAlgorithm::from(token.algorithm));
        is_named && is_for && self.public.fits(token.algorithm)
    }
}

fn public(key: &Jwk) -> Option<PublicKey> {
    let decoded = DecodingKey::from_jwk(key).ok()?;
    let point = || decoded.try_get_as_bytes().ok().map(<[u8]>::to_vec);
    match (&key.algorithm, decoded.kind()) {
        (AlgorithmParameters::RSA(_), DecodingKeyKind::RsaModulusExponent { n, e }) => {
            Some(PublicKey::Rsa { n: number(n), e: number(e) })
        }
        (AlgorithmParameters::EllipticCurve(parameters), _) => match parameters.curve {
            EllipticCurve::P256 => point().map(PublicKey::P256),
            EllipticCurve::P384 => point().map(PublicKey::P384),
            _ => None,
        },
        (AlgorithmParameters::OctetKeyPair(parameters), _) => match parameters.curve {
            EllipticCurve::Ed25519 => point().map(PublicKey::Ed25519),
            _ => None,
        },
        // Shared secrets among them: whoever can read this could sign with them.
        _ => None,
    }
}

/// A number without zeros before it, which some issuers write and `aws-lc-rs` refuses.
fn number(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().skip_while(|byte| *byte == 0).collect()
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair};
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use jsonwebtoken::Algorithm;
    use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519, PublicKeyData as _};
    use serde_json::json;

    use super::*;

    /// A key that can sign, and what its issuer publishes of it.
    struct Signer {
        pair: KeyPair,
        algorithm: &'static str,
        published: Value,
    }

    fn base64(bytes: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn p256() -> Signer {
        let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let point = pair.der_bytes().to_vec();
        let published =
            json!({"kty": "EC", "crv": "P-256", "x": base64(&point[1..33]), "y": base64(&point[33..])});
        Signer { pair, algorithm: "ES256", published }
    }

    fn ed25519() -> Signer {
        let pair = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let published = json!({"kty": "OKP", "crv": "Ed25519", "x": base64(pair.der_bytes())});
        Signer { pair, algorithm: "EdDSA", published }
    }

    impl Signer {
        fn token(&self, key_id: Option<&str>) -> String {
            let mut header = json!({"alg": self.algorithm});
            if let Some(id) = key_id {
                header["kid"] = json!(id);
            }
            let message = format!("{}.{}", base64(header.to_string().as_bytes()), base64(b"{}"));
            let key = self.pair.serialized_der();
            let signature = if self.algorithm == "EdDSA" {
                Ed25519KeyPair::from_pkcs8_maybe_unchecked(key)
                    .unwrap()
                    .sign(message.as_bytes())
                    .as_ref()
                    .to_vec()
            } else {
                let random = SystemRandom::new();
                let by = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key).unwrap();
                by.sign(&random, message.as_bytes()).unwrap().as_ref().to_vec()
            };
            format!("{message}.{}", base64(&signature))
        }

        fn with(&self, members: &Value) -> Value {
            let mut published = self.published.clone();
            for (name, value) in members.as_object().unwrap() {
                published[name] = value.clone();
            }
            published
        }
    }

    fn verified(keys: &[&Value], token: &str) -> Result<(), Refused> {
        let published = serde_json::from_value(json!({"keys": keys})).unwrap();
        KeySet::of(published).verify(&Token::read(token).unwrap())
    }

    #[test]
    fn each_kind_of_key_has_its_signatures() {
        for signer in [p256(), ed25519()] {
            assert_eq!(verified(&[&signer.published], &signer.token(None)), Ok(()));
        }
        let (one, other) = (p256(), p256());
        assert_eq!(verified(&[&other.published], &one.token(None)), Err(Refused::Signature));
        assert_eq!(verified(&[&other.published, &one.published], &one.token(None)), Ok(()));
        assert_eq!(verified(&[&ed25519().published], &one.token(None)), Err(Refused::Key));
        assert_eq!(verified(&[], &one.token(None)), Err(Refused::Key));
    }

    #[test]
    fn a_token_that_names_its_key_is_checked_with_that_one_alone() {
        let signer = p256();
        let named = |id: &str| signer.with(&json!({"kid": id}));
        assert_eq!(verified(&[&named("1")], &signer.token(Some("1"))), Ok(()));
        assert_eq!(verified(&[&named("1")], &signer.token(None)), Ok(()));
        assert_eq!(verified(&[&named("2")], &signer.token(Some("1"))), Err(Refused::Key));
        assert_eq!(verified(&[&signer.published], &signer.token(Some("1"))), Err(Refused::Key));
    }

    #[test]
    fn a_key_that_is_for_something_else_checks_no_signature() {
        let signer = p256();
        let table = [
            (json!({"use": "sig"}), Ok(())),
            (json!({"use": "enc"}), Err(Refused::Key)),
            (json!({"key_ops": ["verify"]}), Ok(())),
            (json!({"key_ops": ["sign"]}), Err(Refused::Key)),
            (json!({"alg": "ES256"}), Ok(())),
            (json!({"alg": "ES384"}), Err(Refused::Key)),
            (json!({"alg": "RSA-OAEP"}), Err(Refused::Key)),
            (json!({"kty": "RSA"}), Err(Refused::Key)),
            (json!({"crv": "P-384"}), Err(Refused::Key)),
            (json!({"crv": "P-521"}), Err(Refused::Key)),
            (json!({"x": "AAAA"}), Err(Refused::Signature)),
        ];
        for (members, expected) in table {
            assert_eq!(verified(&[&signer.with(&members)], &signer.token(None)), expected, "{members}");
        }
    }

    #[test]
    fn a_key_that_can_not_be_read_takes_no_other_away() {
        let signer = p256();
        let keys = [
            json!("x"),
            json!({}),
            json!({"kty": "oct", "k": "AAAA"}),
            json!({"kty": "new"}),
            signer.published.clone(),
        ];
        assert_eq!(verified(&keys.iter().collect::<Vec<_>>(), &signer.token(None)), Ok(()));
    }

    #[test]
    fn zeros_before_a_number_do_not_count() {
        assert_eq!(number(&[0, 0, 1, 0]), [1, 0]);
    }

    #[test]
    fn an_algorithm_fits_its_kind_of_key_alone() {
        let key = PublicKey::Rsa { n: vec![1], e: vec![1] };
        assert!(key.fits(Algorithm::PS512) && !key.fits(Algorithm::ES256) && !key.fits(Algorithm::HS256));
    }
}
