//! Requests and certificates over real keys, made at run time, and a small authority. Those of many algorithms come from
//! OpenSSL; their private keys were never kept.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use proptest::prelude::*;
use rcgen::{
    Attribute, BasicConstraints, CertificateParams, CertificateSigningRequestParams, DistinguishedName,
    DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
    PKCS_ECDSA_P384_SHA384, PKCS_ED25519, SerialNumber, SignatureAlgorithm,
};

use x509_parser::prelude::FromDer as _;

use super::*;
use crate::pem_block::write as pem;
use crate::port::key_source::KeySource;
use crate::subject::Subject;

/// Requests of `O=team, CN=alice`, each below its name.
const ACCEPTED: &str = include_str!("fixtures/accepted.csr");
const REFUSED: &str = include_str!("fixtures/refused.csr");
/// As `openssl req -new -sha512 -text` writes it.
const TEXT_BEFORE: &str = include_str!("fixtures/text-before.csr");

const HOUR: i32 = 3600;

fn alice() -> Subject {
    Subject::new("alice", Some("team")).unwrap()
}

fn name(parts: &[(DnType, &str)]) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    for (kind, value) in parts {
        name.push(kind.clone(), *value);
    }
    name
}

fn alice_parameters() -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name =
        name(&[(DnType::OrganizationName, "team"), (DnType::CommonName, "alice")]);
    parameters
}

fn request_of(parameters: &CertificateParams, algorithm: &'static SignatureAlgorithm) -> String {
    let key = KeyPair::generate_for(algorithm).unwrap();
    parameters.serialize_request(&key).unwrap().pem().unwrap()
}

fn altered(change: impl FnOnce(&mut CertificateParams)) -> String {
    let mut parameters = alice_parameters();
    change(&mut parameters);
    request_of(&parameters, &PKCS_ECDSA_P256_SHA256)
}

fn der(pem: &str) -> Vec<u8> {
    let text: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    STANDARD.decode(text).unwrap()
}

fn refused(request: &str) -> RequestRefused {
    check_request(request, &alice()).unwrap_err()
}

/// The requests of a fixture by their names.
fn named(fixture: &str) -> Vec<(&str, String)> {
    let end = "-----END CERTIFICATE REQUEST-----\n";
    let parts = fixture.split_inclusive(end).map(|part| part.split_once('\n').unwrap());
    parts.map(|(name, request)| (name, request.to_owned())).collect()
}

#[test]
fn every_accepted_kind_of_key_passes() {
    for algorithm in [&PKCS_ECDSA_P256_SHA256, &PKCS_ECDSA_P384_SHA384, &PKCS_ED25519] {
        let request = request_of(&alice_parameters(), algorithm);
        assert_eq!(check_request(&request, &alice()), Ok(()), "{algorithm:?}");
    }
}

#[test]
fn a_request_of_each_key_and_hash_that_kubernetes_takes_passes() {
    let requests = named(ACCEPTED);
    assert_eq!(requests.len(), 22);
    for (name, request) in requests {
        assert_eq!(check_request(&request, &alice()), Ok(()), "{name}");
        assert_eq!(check_request(&request.replace('\n', "\r\n"), &alice()), Ok(()), "{name}");
    }
}

#[test]
fn a_changed_request_of_each_key_and_hash_is_refused_for_its_signature() {
    for (name, request) in named(ACCEPTED) {
        let mut bytes = der(&request);
        let position = bytes.windows(5).position(|part| part == b"alice").unwrap();
        bytes[position] = b'A';
        assert_eq!(refused(&pem("CERTIFICATE REQUEST", &bytes)), RequestRefused::Signature, "{name}");
    }
}

#[test]
fn text_before_the_block_of_a_request_is_passed_over() {
    let request = altered(|_| ());
    let bag = "Bag Attributes\n    localKeyID: 01 00 00 00\nKey Attributes: <No Attributes>\n";
    let tables = "+-----+-----+\n|  CN | alice |\n+-----+-----+\n";
    let two_ends = request.replace("-----END", "-----END CERTIFICATE REQUEST-----\njunk\n-----END");
    assert_eq!(refused(&two_ends), RequestRefused::NotOneBlock);
    for before in
        ["", "\n\n  \n", "Certificate Request:\n", bag, tables, "Anforderung für Zürich\n", "a\r\nb\r\n"]
    {
        assert_eq!(check_request(&format!("{before}{request}"), &alice()), Ok(()), "{before:?}");
    }
    assert!(TEXT_BEFORE.starts_with("Certificate Request:\n"));
    assert_eq!(check_request(TEXT_BEFORE, &alice()), Ok(()));
}

#[test]
fn the_order_of_the_subjects_parts_means_nothing() {
    let request = altered(|parameters| {
        parameters.distinguished_name =
            name(&[(DnType::CommonName, "alice"), (DnType::OrganizationName, "team")]);
    });
    assert_eq!(check_request(&request, &alice()), Ok(()));
}

#[test]
fn what_is_not_supported_is_refused_by_its_name_and_never_as_a_broken_signature() {
    let key = |found: &str| RequestRefused::Key { found: found.to_owned() };
    let signature = |found: &str| RequestRefused::SignatureAlgorithm { found: found.to_owned() };
    let expected = [
        ("P-224", key("ECDSA P-224")),
        ("secp256k1", key("ECDSA secp256k1")),
        ("brainpoolP384r1", key("ECDSA brainpoolP384r1")),
        ("explicit", key("ECDSA on a curve without a name")),
        ("compressed", key("ECDSA P-256 as a compressed point")),
        ("RSA-1024", key("RSA of 1024 bits")),
        ("RSA SHA-1", signature("RSA with SHA-1")),
        ("RSA MD5", signature("RSA with MD5")),
        ("RSA SHA-224", signature("RSA with SHA-224")),
        ("RSA SHA3-256", signature("RSA with SHA3-256")),
        ("ECDSA SHA-1", signature("ECDSA with SHA-1")),
        ("ECDSA SHA3-256", signature("ECDSA with SHA3-256")),
        ("DSA", key("DSA")),
        ("RSASSA-PSS-key", key("RSA for RSASSA-PSS alone")),
        ("RSASSA-PSS salt-20", signature("RSASSA-PSS with SHA-256 and a salt of 20 bytes")),
        ("RSASSA-PSS SHA-1", signature("RSASSA-PSS with SHA-1 and a salt of 20 bytes")),
        ("Ed448", key("Ed448")),
    ];
    let found: Vec<_> = named(REFUSED).iter().map(|(name, request)| (*name, refused(request))).collect();
    assert_eq!(found, expected);
    for (name, refused) in found {
        let message = refused.to_string();
        assert!(message.contains("; it must be ") && !message.contains("1.2.840"), "{name}: {message}");
    }
}

/// The identifier of RSASSA-PSS with SHA-256 and a salt of this length, as DER.
fn pss_with_salt(length: &[u8]) -> Vec<u8> {
    let part = |tag: u8, content: &[u8]| [&[tag, u8::try_from(content.len()).unwrap()][..], content].concat();
    let id = |last: &[u8]| part(6, last);
    let hash = part(0x30, &[id(b"\x60\x86\x48\x01\x65\x03\x04\x02\x01"), part(5, b"")].concat());
    let mask = part(0x30, &[id(b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x08"), hash.clone()].concat());
    let parameters = [part(0xa0, &hash), part(0xa1, &mask), part(0xa2, &part(2, length))].concat();
    let scheme = id(b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0a");
    part(0x30, &[scheme, part(0x30, &parameters)].concat())
}

#[test]
fn a_salt_of_any_length_is_compared_with_the_one_that_the_hash_has() {
    for (length, is_supported) in [
        (&b"\x20"[..], true),
        (b"\x1f", false),
        (b"\x00", false),
        // A multiple of eight that would end with 256 in 32 bits.
        (b"\x20\x00\x00\x20", false),
        (b"\x00\xff\xff\xff\xff", false),
    ] {
        let identifier = pss_with_salt(length);
        let (_, identifier) = x509_parser::x509::AlgorithmIdentifier::from_der(&identifier).unwrap();
        assert_eq!(algorithm::Signature::read(&identifier).is_some(), is_supported, "{length:?}");
    }
}

#[test]
fn every_other_subject_is_refused_with_the_one_that_it_must_have() {
    let common_name = (DnType::CommonName, "alice");
    let organization = (DnType::OrganizationName, "team");
    let unit = (DnType::OrganizationalUnitName, "unit");
    // A second attribute of a kind that is there already: the library would replace it under its own name.
    let second = |last, value| (DnType::CustomDnType(vec![2, 5, 4, last]), value);
    let rows: [&[(DnType, &str)]; 9] = [
        &[],
        std::slice::from_ref(&common_name),
        std::slice::from_ref(&organization),
        &[organization.clone(), (DnType::CommonName, "Alice")],
        &[(DnType::OrganizationName, "system:masters"), common_name.clone()],
        &[organization.clone(), common_name.clone(), unit],
        &[organization.clone(), common_name.clone(), second(3, "admin")],
        &[organization.clone(), common_name.clone(), second(10, "system:masters")],
        &[organization.clone(), common_name.clone(), second(10, "team")],
    ];
    for parts in rows {
        let request = altered(|parameters| parameters.distinguished_name = name(parts));
        let error = refused(&request);
        assert!(
            matches!(&error, RequestRefused::Subject { expected, .. } if *expected == alice()),
            "{parts:?} {error}"
        );
        assert!(error.to_string().ends_with("it must be exactly O=team, CN=alice"), "{error}");
    }
    let unwanted = check_request(&altered(|_| ()), &Subject::new("alice", None).unwrap()).unwrap_err();
    assert!(matches!(unwanted, RequestRefused::Subject { .. }));
}

#[test]
fn a_foreign_subject_is_cut_and_escaped_in_the_message() {
    let long = format!("\u{1b}[31m{}", "x".repeat(1000));
    let request = altered(|parameters| parameters.distinguished_name = name(&[(DnType::CommonName, &long)]));
    let message = refused(&request).to_string();
    assert!(message.len() < 400 && !message.contains('\u{1b}'), "{message}");
}

#[test]
fn every_attribute_is_refused() {
    let extensions = "1.2.840.113549.1.9.14";
    let rows: [(&str, String, &str); 4] = [
        (
            "alternative name",
            altered(|parameters| {
                *parameters = {
                    let mut with_name = CertificateParams::new(["api.example.org".to_owned()]).unwrap();
                    with_name.distinguished_name = parameters.distinguished_name.clone();
                    with_name
                }
            }),
            extensions,
        ),
        (
            "authority",
            altered(|parameters| parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained)),
            extensions,
        ),
        (
            "key usage",
            altered(|parameters| parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature]),
            extensions,
        ),
        ("password", with_password(), "1.2.840.113549.1.9.7"),
    ];
    for (what, request, oid) in rows {
        assert_eq!(refused(&request), RequestRefused::Attribute { oid: oid.to_owned() }, "{what}");
    }
}

fn with_password() -> String {
    let key = KeyPair::generate().unwrap();
    // SET { UTF8String "pass" }
    let values = vec![0x31, 0x06, 0x0c, 0x04, b'p', b'a', b's', b's'];
    let password = Attribute { oid: &[1, 2, 840, 113_549, 1, 9, 7], values };
    alice_parameters().serialize_request_with_attributes(&key, vec![password]).unwrap().pem().unwrap()
}

#[test]
fn a_request_that_was_changed_is_refused() {
    let mut bytes = der(&altered(|_| ()));
    let position = bytes.windows(5).position(|part| part == b"alice").unwrap();
    bytes[position] = b'A';
    assert_eq!(refused(&pem("CERTIFICATE REQUEST", &bytes)), RequestRefused::Signature);
}

#[test]
fn anything_but_one_request_is_refused() {
    let request = altered(|_| ());
    let issued = SystemKeys.issue(&alice()).unwrap();
    let bytes = der(&request);
    let trailing = [bytes.as_slice(), b"\0"].concat();
    let rows = [
        ("empty", String::new(), RequestRefused::NotOneBlock),
        ("no PEM", "hello".to_owned(), RequestRefused::NotOneBlock),
        ("two requests", format!("{request}{request}"), RequestRefused::NotOneBlock),
        ("text on the line of the block", format!("request: {request}"), RequestRefused::NotOneBlock),
        (
            "another block before",
            format!("{}{request}", pem("CERTIFICATE", &bytes)),
            RequestRefused::NotOneBlock,
        ),
        ("text after", format!("{request}x"), RequestRefused::NotOneBlock),
        ("another label", pem("CERTIFICATE", &bytes), RequestRefused::NotOneBlock),
        ("cut", request[..request.len() / 2].to_owned(), RequestRefused::NotOneBlock),
        ("not base64", request.replacen('M', "*", 1), RequestRefused::NotOneBlock),
        ("empty block", pem("CERTIFICATE REQUEST", b""), RequestRefused::NotRequest),
        ("cut content", pem("CERTIFICATE REQUEST", &bytes[..40]), RequestRefused::NotRequest),
        ("content and more", pem("CERTIFICATE REQUEST", &trailing), RequestRefused::NotRequest),
        ("too large", format!("{request}{}", " ".repeat(REQUEST_BYTES_MAX)), RequestRefused::TooLarge),
        ("key and request", format!("{}{request}", issued.key.expose()), RequestRefused::PrivateKey),
    ];
    for (what, text, expected) in rows {
        assert_eq!(refused(&text), expected, "{what}");
    }
}

fn moment(seconds: i64) -> Timestamp {
    let start: Timestamp = "2030-01-01T00:00:00Z".parse().unwrap();
    Timestamp::from_second(start.as_second() + seconds).unwrap()
}

fn authority() -> Issuer<'static, KeyPair> {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = name(&[(DnType::CommonName, "test authority")]);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    Issuer::new(parameters, KeyPair::generate().unwrap())
}

/// Signs as Kubernetes does: five minutes back, an hour long, for clients; `change` comes last.
fn sign(request_pem: &str, change: impl FnOnce(&mut CertificateParams)) -> String {
    let mut request = CertificateSigningRequestParams::from_pem(request_pem).unwrap();
    set_validity(&mut request.params, -300, i64::from(HOUR));
    request.params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    request.params.serial_number = Some(SerialNumber::from(vec![0x80, 0x01, 0xff]));
    change(&mut request.params);
    request.signed_by(&authority()).unwrap().pem()
}

fn set_validity(parameters: &mut CertificateParams, from: i64, until: i64) {
    let at = |seconds: i64| {
        let start = rcgen::date_time_ymd(2030, 1, 1);
        let distance = Duration::from_secs(seconds.unsigned_abs());
        if seconds < 0 { start - distance } else { start + distance }
    };
    parameters.not_before = at(from);
    parameters.not_after = at(until);
}

fn check(request: &str, certificate: &str, now: i64) -> Result<CertificateFacts, CertificateRefused> {
    let subject = alice();
    let expected =
        Expected { request_pem: request, subject: &subject, lifetime_seconds: Some(HOUR), now: moment(now) };
    check_certificate(certificate, &expected)
}

#[test]
fn a_certificate_as_kubernetes_signs_it_is_accepted_and_read() {
    let request = SystemKeys.issue(&alice()).unwrap().request;
    let facts = check(&request, &sign(&request, |_| ()), 0).unwrap();
    let expected = CertificateFacts {
        not_before: moment(-300),
        not_after: moment(i64::from(HOUR)),
        serial_hex: "8001ff".to_owned(),
        subject: alice(),
        is_shortened: false,
    };
    assert_eq!(facts, expected);
}

#[test]
fn intermediate_certificates_and_text_beside_the_blocks_are_accepted() {
    let request = SystemKeys.issue(&alice()).unwrap().request;
    let certificate = sign(&request, |_| ());
    let chain = format!("subject=alice\n{certificate}issuer\n{}", sign(&request, |_| ()));
    assert!(check(&request, &chain, 0).is_ok());
}

#[test]
fn every_certificate_that_is_not_what_was_asked_for_is_refused() {
    type Change = fn(&mut CertificateParams);
    let request = SystemKeys.issue(&alice()).unwrap().request;
    let bob: Change = |parameters| {
        parameters.distinguished_name =
            name(&[(DnType::OrganizationName, "team"), (DnType::CommonName, "bob")]);
    };
    let now = moment(0);
    let rows: [(Change, CertificateRefused); 7] = [
        (bob, CertificateRefused::Subject { expected: alice(), found: "O=team, CN=bob".to_owned() }),
        (
            |parameters| parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained),
            CertificateRefused::Authority,
        ),
        (|parameters| parameters.extended_key_usages.clear(), CertificateRefused::NotForClients),
        (
            |parameters| parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth],
            CertificateRefused::NotForClients,
        ),
        (
            |parameters| set_validity(parameters, 301, 1000),
            CertificateRefused::NotYetValid { not_before: moment(301), now },
        ),
        (
            |parameters| set_validity(parameters, -900, 0),
            CertificateRefused::Expired { not_after: moment(0), now },
        ),
        (
            |parameters| set_validity(parameters, -300, 3901),
            CertificateRefused::TooLong { not_after: moment(3901), latest: moment(3900) },
        ),
    ];
    for (change, expected) in rows {
        let error = check(&request, &sign(&request, change), 0).unwrap_err();
        assert_eq!(error, expected);
        assert_eq!(error.is_retryable(), matches!(error, CertificateRefused::NotYetValid { .. }));
        assert!(!error.to_string().contains("bob"), "the issuer of a certificate chooses its words: {error}");
    }
}

#[test]
fn a_certificate_for_another_key_is_refused() {
    let request = SystemKeys.issue(&alice()).unwrap().request;
    let other = SystemKeys.issue(&alice()).unwrap().request;
    assert_eq!(check(&request, &sign(&other, |_| ()), 0), Err(CertificateRefused::PublicKey));
}

#[test]
fn anything_but_certificates_is_refused() {
    let issued = SystemKeys.issue(&alice()).unwrap();
    let certificate = sign(&issued.request, |_| ());
    let bytes = der(&certificate);
    let rows = [
        ("empty", String::new(), CertificateRefused::NotCertificates),
        ("a request", issued.request.clone(), CertificateRefused::NotCertificates),
        (
            "a key after it",
            format!("{certificate}{}", issued.key.expose()),
            CertificateRefused::NotCertificates,
        ),
        ("cut", pem("CERTIFICATE", &bytes[..50]), CertificateRefused::NotCertificates),
        (
            "more",
            pem("CERTIFICATE", &[bytes.as_slice(), b"\0"].concat()),
            CertificateRefused::NotCertificates,
        ),
        ("too large", " ".repeat(CERTIFICATES_BYTES_MAX + 1), CertificateRefused::TooLarge),
    ];
    for (what, text, expected) in rows {
        assert_eq!(check(&issued.request, &text, 0), Err(expected), "{what}");
    }
    let no_request = check("nothing", &certificate, 0);
    assert_eq!(no_request, Err(CertificateRefused::Request(RequestRefused::NotOneBlock)));
}

#[test]
fn a_shorter_life_is_accepted_and_reported() {
    let request = SystemKeys.issue(&alice()).unwrap().request;
    let certificate = sign(&request, |parameters| set_validity(parameters, -300, 600));
    assert!(check(&request, &certificate, 0).unwrap().is_shortened);
}

#[test]
fn a_certificate_that_lives_too_long_is_not_accepted_when_some_of_its_life_is_over() {
    let request = SystemKeys.issue(&alice()).unwrap().request;
    let certificate = sign(&request, |parameters| set_validity(parameters, -300, 7200));
    for now in [0, 3600, 7000] {
        let error = check(&request, &certificate, now).unwrap_err();
        let expected = CertificateRefused::TooLong { not_after: moment(7200), latest: moment(3900) };
        assert_eq!(error, expected, "{now}");
    }
}

#[test]
fn a_certificate_that_is_collected_late_is_not_reported_as_shortened() {
    let request = SystemKeys.issue(&alice()).unwrap().request;
    assert!(!check(&request, &sign(&request, |_| ()), 3500).unwrap().is_shortened);
}

#[test]
fn any_life_is_accepted_when_none_was_asked_for() {
    let request = SystemKeys.issue(&alice()).unwrap().request;
    let certificate = sign(&request, |parameters| {
        set_validity(parameters, -300, 1_000_000_000);
    });
    let subject = alice();
    let expected =
        Expected { request_pem: &request, subject: &subject, lifetime_seconds: None, now: moment(0) };
    assert!(!check_certificate(&certificate, &expected).unwrap().is_shortened);
}

#[test]
fn the_trust_in_a_bundle_ends_with_its_last_authority() {
    let ending = |parameters: &mut CertificateParams, until| set_validity(parameters, 0, until);
    let one = sign(&altered(|_| ()), |parameters| ending(parameters, 100));
    let other = sign(&altered(|_| ()), |parameters| ending(parameters, 200));
    assert_eq!(authorities_not_after(&format!("{other}{one}")), Ok(moment(200)));
    assert_eq!(authorities_not_after("none"), Err(CertificateRefused::NotCertificates));
}

#[test]
fn an_authority_without_an_end_is_read_as_the_last_timestamp() {
    let endless = sign(&altered(|_| ()), |parameters| {
        parameters.not_after = rcgen::date_time_ymd(9999, 12, 31);
    });
    assert_eq!(authorities_not_after(&endless).unwrap().as_second(), Timestamp::MAX.as_second());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_accepted_certificate_is_outside_of_its_validity_or_longer_than_asked(
        from in -100_000_i64..100_000,
        length in 1_i64..100_000,
        now in -100_000_i64..100_000,
        later in 0_i64..100_000,
    ) {
        let request = SystemKeys.issue(&alice()).unwrap().request;
        let certificate = sign(&request, |parameters| set_validity(parameters, from, from + length));
        match check(&request, &certificate, now) {
            Ok(_) => {
                prop_assert!(from - CLOCK_SKEW_SECONDS_MAX <= now && now < from + length);
                prop_assert!(length <= i64::from(HOUR) + 2 * CLOCK_SKEW_SECONDS_MAX);
            }
            Err(error) if error.is_retryable() => prop_assert!(now < from),
            // What is refused for good stays refused.
            Err(_) => prop_assert!(check(&request, &certificate, now + later).is_err()),
        }
    }

    #[test]
    fn no_text_makes_a_check_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), position in 0_usize..1000) {
        for label in ["CERTIFICATE REQUEST", "CERTIFICATE"] {
            let text = pem(label, &bytes);
            prop_assert!(check_request(&text, &alice()).is_err());
            prop_assert!(authorities_not_after(&text).is_err());
        }
        let mut request = der(&named(ACCEPTED).swap_remove(3).1);
        let index = position % request.len();
        request[index] ^= bytes.first().copied().unwrap_or(1) | 1;
        let _ = check_request(&pem("CERTIFICATE REQUEST", &request), &alice());
    }
}
