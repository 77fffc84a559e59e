//! Client certificates: the common name is the user, the organizations are the groups, as Kubernetes has it.
//!
//! That the certificate is of a known authority, and its caller has its key, was checked in the handshake. Here its times are
//! looked at once more: a connection may be open for longer than its certificate is valid.

use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer as _;
use x509_parser::time::ASN1Time;
use x509_parser::x509::AttributeTypeAndValue;

use crate::identity::{Identity, Proof};
use crate::refused::Refused;

/// Who a certificate is of that was verified in a handshake.
///
/// # Errors
/// It has expired since, has not one common name, or names that are not taken.
pub fn identify(certificate: &CertificateDer<'_>, now: Timestamp) -> Result<Identity, Refused> {
    let (_, certificate) = X509Certificate::from_der(certificate).map_err(|_| Refused::Certificate)?;
    let validity = certificate.validity();
    let (from, until) = (time(validity.not_before)?, time(validity.not_after)?);
    if now < from {
        return Err(Refused::NotYet(from));
    }
    // The last second of a certificate is a part of its life.
    if now.as_second() > until.as_second() {
        return Err(Refused::Expired(until));
    }
    let subject = certificate.subject();
    let mut names = subject.iter_common_name();
    // Of several, one program takes the first and another the last.
    let (Some(user), None) = (names.next(), names.next()) else { return Err(Refused::CommonName) };
    let groups: Vec<String> = subject.iter_organization().map(text).collect::<Result<_, _>>()?;
    Ok(Identity::new(text(user)?, groups, Some(until), Proof::Certificate)?)
}

fn text(attribute: &AttributeTypeAndValue<'_>) -> Result<String, Refused> {
    attribute.as_str().map(str::to_owned).map_err(|_| Refused::Certificate)
}

fn time(time: ASN1Time) -> Result<Timestamp, Refused> {
    Timestamp::from_second(time.timestamp()).map_err(|_| Refused::Certificate)
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, DnValue, KeyPair, date_time_ymd};

    use super::*;
    use crate::name::{self, Kind};

    fn certificate(parts: &[(DnType, &str)]) -> CertificateDer<'static> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        for (part, value) in parts {
            params.distinguished_name.push(part.clone(), DnValue::Utf8String((*value).to_owned()));
        }
        (params.not_before, params.not_after) = (date_time_ymd(2026, 1, 1), date_time_ymd(2026, 2, 1));
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn the_common_name_is_the_user_and_the_organization_a_group() {
        let shown = certificate(&[(DnType::CommonName, "alice"), (DnType::OrganizationName, "builders")]);
        let found = identify(&shown, at("2026-01-15T00:00:00Z")).unwrap();
        let until = Some(at("2026-02-01T00:00:00Z"));
        let expected = Identity::new("alice", ["builders".to_owned()], until, Proof::Certificate).unwrap();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_times_of_a_certificate_hold_on_a_connection_that_is_open_for_longer() {
        let shown = certificate(&[(DnType::CommonName, "alice")]);
        let table = [
            ("2025-12-31T23:59:59Z", Err(Refused::NotYet(at("2026-01-01T00:00:00Z")))),
            ("2026-01-01T00:00:00Z", Ok(())),
            ("2026-02-01T00:00:00.9Z", Ok(())),
            ("2026-02-01T00:00:01Z", Err(Refused::Expired(at("2026-02-01T00:00:00Z")))),
        ];
        for (now, expected) in table {
            assert_eq!(identify(&shown, at(now)).map(drop), expected, "{now}");
        }
    }

    #[test]
    fn a_certificate_of_nobody_or_of_the_system_is_refused() {
        let refused = |parts: &[(DnType, &str)]| identify(&certificate(parts), at("2026-01-15T00:00:00Z"));
        assert_eq!(refused(&[(DnType::OrganizationName, "builders")]), Err(Refused::CommonName));
        let two = [(DnType::CommonName, "alice"), (DnType::CustomDnType(vec![2, 5, 4, 3]), "bob")];
        assert_eq!(refused(&two), Err(Refused::CommonName));
        assert_eq!(refused(&[(DnType::CommonName, "")]), Err(name::Invalid::Empty(Kind::User).into()));
        let reserved = [(DnType::CommonName, "alice"), (DnType::OrganizationName, "system:masters")];
        assert_eq!(refused(&reserved), Err(name::Invalid::Reserved(Kind::Group).into()));
        let garbage = CertificateDer::from(vec![0x30, 0x03, 1, 2, 3]);
        assert_eq!(identify(&garbage, at("2026-01-15T00:00:00Z")), Err(Refused::Certificate));
    }
}
