//! Keys from the system's randomness.

use rcgen::{CertificateParams, KeyPair, PKCS_RSA_SHA256, RsaKeySize};
use secrecy::zeroize::Zeroize;

use super::distinguished_name;
use crate::port::key_source::{Error, KeyAndRequest, KeySource, KeyType};
use crate::secret::Secret;
use crate::subject::Subject;

/// Makes keys from the system's randomness.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SystemKeys;

impl KeySource for SystemKeys {
    fn issue_of(&self, key: KeyType, subject: &Subject) -> Result<KeyAndRequest, Error> {
        let mut pair = pair(key).map_err(|source| Error::Key(source.into()))?;
        let request = request(subject, &pair);
        let key = Secret::new(pair.serialize_pem());
        pair.zeroize();
        Ok(KeyAndRequest { key, request: request.map_err(|source| Error::Request(source.into()))? })
    }
}

fn pair(key: KeyType) -> Result<KeyPair, rcgen::Error> {
    let size = match key {
        KeyType::EcdsaP256 => return KeyPair::generate(),
        KeyType::Rsa2048 => RsaKeySize::_2048,
        KeyType::Rsa3072 => RsaKeySize::_3072,
        KeyType::Rsa4096 => RsaKeySize::_4096,
    };
    KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, size)
}

fn request(subject: &Subject, pair: &KeyPair) -> Result<String, rcgen::Error> {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = distinguished_name::of(subject);
    parameters.serialize_request(pair)?.pem()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::check_request;
    use proptest::prelude::*;
    use x509_parser::certification_request::X509CertificationRequest;
    use x509_parser::prelude::FromDer as _;

    #[test]
    fn a_key_is_pkcs8_made_anew_each_time_and_never_shown() {
        let subject = Subject::new("alice", Some("team")).unwrap();
        let one = SystemKeys.issue(&subject).unwrap();
        let other = SystemKeys.issue(&subject).unwrap();
        assert!(one.key.expose().starts_with("-----BEGIN PRIVATE KEY-----"));
        assert_ne!(one.key, other.key);
        let key_line = one.key.expose().lines().nth(1).unwrap();
        assert!(!format!("{one:?}").contains(key_line));
        assert!(!one.request.contains(key_line));
    }

    #[test]
    fn an_rsa_key_has_the_length_that_was_asked_for_and_signs_its_request() {
        let subject = Subject::new("alice", Some("team")).unwrap();
        for (key, bits) in [(KeyType::Rsa2048, 2048), (KeyType::Rsa3072, 3072)] {
            let made = SystemKeys.issue_of(key, &subject).unwrap();
            assert!(made.key.expose().starts_with("-----BEGIN PRIVATE KEY-----"));
            assert_eq!(check_request(&made.request, &subject), Ok(()));
            let (_, pem) = x509_parser::pem::parse_x509_pem(made.request.as_bytes()).unwrap();
            let (_, request) = X509CertificationRequest::from_der(&pem.contents).unwrap();
            let public = request.certification_request_info.subject_pki;
            assert_eq!(public.parsed().unwrap().key_size(), bits);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn a_request_passes_the_check_for_its_own_subject_and_for_no_other(
            common_name in "[!-~][ -~é漢]{0,62}[!-~]",
            organization in proptest::option::of("[!-~][ -~é漢]{0,62}[!-~]"),
        ) {
            prop_assume!(!common_name.starts_with("system:"));
            let subject = Subject::new(&common_name, organization.as_deref()).unwrap();
            let request = SystemKeys.issue(&subject).unwrap().request;
            prop_assert_eq!(check_request(&request, &subject), Ok(()));
            let other = Subject::new("another user", organization.as_deref()).unwrap();
            prop_assert!(check_request(&request, &other).is_err());
        }
    }
}
