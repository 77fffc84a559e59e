//! Keys from the system's randomness.

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use secrecy::zeroize::Zeroize;

use crate::port::key_source::{Error, KeyAndRequest, KeySource};
use crate::secret::Secret;
use crate::subject::Subject;

/// Makes ECDSA P-256 keys from the system's randomness: short, quick to make, and known to every TLS client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SystemKeys;

impl KeySource for SystemKeys {
    fn issue(&self, subject: &Subject) -> Result<KeyAndRequest, Error> {
        let mut pair = KeyPair::generate().map_err(|source| Error::Key(source.into()))?;
        let request = request(subject, &pair);
        let key = Secret::new(pair.serialize_pem());
        pair.zeroize();
        Ok(KeyAndRequest { key, request: request.map_err(|source| Error::Request(source.into()))? })
    }
}

fn request(subject: &Subject, pair: &KeyPair) -> Result<String, rcgen::Error> {
    let mut name = DistinguishedName::new();
    if let Some(organization) = subject.organization() {
        name.push(DnType::OrganizationName, organization);
    }
    name.push(DnType::CommonName, subject.common_name());
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = name;
    parameters.serialize_request(pair)?.pem()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::check_request;
    use proptest::prelude::*;

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
