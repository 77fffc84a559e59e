//! Subjects with any number of groups.
//!
//! rcgen keeps one value for each kind of attribute, and a Kubernetes client certificate needs an organization for each
//! group. So the subject of a finished certificate is replaced, and the certificate signed again with the same key.

use der::asn1::{Any, BitString, ObjectIdentifier, SetOfVec, Utf8StringRef};
use der::pem::LineEnding;
use der::{Decode, Encode};
use rcgen::{KeyPair, SigningKey};

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const ORGANIZATION: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.10");

/// The part of a certificate that is signed: version, serial number, algorithm, issuer, validity, subject, key, extensions.
const SUBJECT: usize = 5;

/// Why the subject of a certificate could not be replaced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The certificate, or the new subject, has not the expected form.
    #[error("the certificate could not be taken apart and put together again")]
    Encoding(#[from] der::Error),
    /// The certificate has too few parts.
    #[error("the certificate has no subject")]
    NoSubject,
    /// The changed certificate could not be signed.
    #[error("the changed certificate could not be signed")]
    Sign(#[source] rcgen::Error),
}

/// The certificate as PEM, with a subject of the groups and the common name, signed by the issuer's key.
pub(super) fn replace_subject(
    certificate: &[u8],
    common_name: &str,
    groups: &[&str],
    issuer: &KeyPair,
) -> Result<String, Error> {
    let mut certificate: Vec<Any> = Vec::from_der(certificate)?;
    let [signed, _algorithm, signature] = certificate.as_mut_slice() else {
        return Err(Error::NoSubject);
    };
    let mut parts: Vec<Any> = signed.decode_as()?;
    *parts.get_mut(SUBJECT).ok_or(Error::NoSubject)? = subject(common_name, groups)?;
    *signed = Any::encode_from(&parts)?;
    let bytes = issuer.sign(&signed.to_der()?).map_err(Error::Sign)?;
    *signature = Any::encode_from(&BitString::from_bytes(&bytes)?)?;
    Ok(der::pem::encode_string("CERTIFICATE", LineEnding::LF, &certificate.to_der()?)
        .map_err(der::Error::from)?)
}

fn subject(common_name: &str, groups: &[&str]) -> Result<Any, der::Error> {
    let organizations = groups.iter().map(|group| attribute(ORGANIZATION, group));
    let attributes = organizations.chain([attribute(COMMON_NAME, common_name)]);
    Any::encode_from(&attributes.collect::<Result<Vec<_>, _>>()?)
}

fn attribute(kind: ObjectIdentifier, value: &str) -> Result<SetOfVec<Any>, der::Error> {
    let pair = vec![Any::encode_from(&kind)?, Any::encode_from(&Utf8StringRef::new(value)?)?];
    SetOfVec::try_from(vec![Any::encode_from(&pair)?])
}
