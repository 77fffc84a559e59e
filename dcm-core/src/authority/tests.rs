//! Authorities are made for each other, and what does not fit is refused with its place.

use jiff::SignedDuration;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, GeneralSubtree,
    IsCa, KeyPair, KeyUsagePurpose, NameConstraints, PKCS_ECDSA_P521_SHA512, PKCS_ED25519, date_time_ymd,
};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::*;
use crate::name::TrustDomain;
use crate::pki::SystemKeys;
use crate::port::key_source::KeyType;
use crate::subject::Subject;

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn now() -> Timestamp {
    time("2030-01-01T00:00:00Z")
}

fn subject(name: &str) -> Subject {
    Subject::new(name, Some("dcm:proj1:lc1")).unwrap()
}

fn domain() -> TrustDomain {
    TrustDomain::new("lc1.proj1").unwrap()
}

fn template(name: &str, profile: &Profile) -> Template {
    Template { subject: subject(name), trust_domain: domain(), profile: *profile }
}

fn root_with(profile: &Profile) -> Authority {
    Authority::create_root(&SystemKeys, &template("root", profile), now()).unwrap()
}

fn root() -> Authority {
    root_with(&Profile::ROOT)
}

fn issue(root: &Authority, name: &str, profile: &Profile, now: Timestamp) -> Result<Authority, IssueError> {
    root.issue(&SystemKeys, &template(name, profile), now)
}

fn chain(authority: &Authority) -> String {
    authority.ca_certs().cert_chain.concat()
}

fn fault(error: IssueError) -> Fault {
    match error {
        IssueError::Issuer(Refused::Certificate { fault, .. })
        | IssueError::Made(Refused::Certificate { fault, .. }) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_intermediate_authority_has_its_own_key_and_the_files_of_cacerts() {
    let root = root();
    let [one, other] =
        ["edge-1", "edge-2"].map(|name| issue(&root, name, &Profile::INTERMEDIATE, now()).unwrap());
    let files = one.ca_certs().files();
    let names = files.each_ref().map(|(name, _)| *name);
    assert_eq!(names, ["ca-cert.pem", "ca-key.pem", "root-cert.pem", "cert-chain.pem"]);
    let [ca_cert, ca_key, root_cert, cert_chain] = files.map(|(_, content)| content);
    assert_eq!(ca_cert.expose(), one.certificate());
    assert!(ca_key.expose().starts_with("-----BEGIN PRIVATE KEY-----\n"));
    assert_eq!(root_cert.expose(), root.certificate());
    assert_eq!(cert_chain.expose(), format!("{}{}", one.certificate(), root.certificate()));
    assert_eq!(Authority::new(cert_chain.expose(), &ca_key).unwrap(), one);
    assert_eq!(one.root_facts(), root.facts());
    assert!(root.is_root() && !one.is_root());
    for differs in [
        [&one.facts().serial_hex, &other.facts().serial_hex],
        [&one.facts().fingerprint_sha256, &other.facts().fingerprint_sha256],
    ] {
        assert_ne!(differs[0], differs[1]);
    }
    assert!(one.facts().serial_hex.len() >= 32, "a serial number of at least 128 bits");
    assert_eq!((root.facts().path_length, one.facts().path_length), (Some(1), Some(0)));
    assert_eq!(one.facts().not_before, time("2029-12-31T23:55:00Z"));
    assert_eq!(one.facts().not_after, time("2031-01-01T00:00:00Z"));
    assert_eq!(one.facts().renewal(), time("2030-09-01T07:58:20Z"));
}

#[test]
fn certificates_name_their_trust_domain_and_their_issuers_key() {
    let root = root();
    let edge = issue(&root, "edge-1", &Profile::INTERMEDIATE, now()).unwrap();
    for (authority, has_issuer) in [(&root, false), (&edge, true)] {
        let (_, pem) = x509_parser::pem::parse_x509_pem(authority.certificate().as_bytes()).unwrap();
        let (_, certificate) = X509Certificate::from_der(&pem.contents).unwrap();
        let names = certificate.subject_alternative_name().unwrap().unwrap();
        assert_eq!(format!("{:?}", names.value.general_names), r#"[URI("spiffe://lc1.proj1")]"#);
        let constraints = certificate.basic_constraints().unwrap().unwrap();
        assert!(constraints.critical && certificate.key_usage().unwrap().unwrap().critical);
        let identifier = "2.5.29.35";
        let has = certificate.extensions().iter().any(|one| one.oid.to_id_string() == identifier);
        assert_eq!(has, has_issuer);
    }
}

#[test]
fn every_key_type_makes_a_root_and_an_intermediate() {
    for (key, bits) in [(KeyType::EcdsaP256, 256), (KeyType::Rsa2048, 2048), (KeyType::Rsa3072, 3072)] {
        let root = root_with(&Profile { key, ..Profile::ROOT });
        let edge = issue(&root, "edge-1", &Profile { key, ..Profile::INTERMEDIATE }, now()).unwrap();
        for authority in [&root, &edge] {
            let (_, pem) = x509_parser::pem::parse_x509_pem(authority.certificate().as_bytes()).unwrap();
            let (_, certificate) = X509Certificate::from_der(&pem.contents).unwrap();
            assert_eq!(certificate.public_key().parsed().unwrap().key_size(), bits, "{key:?}");
        }
    }
}

#[test]
fn an_authority_never_outlives_its_issuer_and_a_dead_one_signs_nothing() {
    let root = root();
    let end = root.facts().not_after;
    let late = issue(&root, "edge-1", &Profile::INTERMEDIATE, end - SignedDuration::from_hours(24)).unwrap();
    assert_eq!(late.facts().not_after, end);
    let first = issue(&root, "edge-1", &Profile::INTERMEDIATE, root.facts().not_before).unwrap();
    assert_eq!(first.facts().not_before, root.facts().not_before);
    assert_eq!(
        fault(issue(&root, "edge-1", &Profile::INTERMEDIATE, end).unwrap_err()),
        Fault::Expired { not_after: end, now: end }
    );
    let before = root.facts().not_before - SignedDuration::from_secs(1);
    let early = issue(&root, "edge-1", &Profile::INTERMEDIATE, before).unwrap_err();
    assert!(early.is_retryable());
    assert_eq!(fault(early), Fault::NotYetValid { not_before: root.facts().not_before, now: before });
}

#[test]
fn an_authority_of_a_cluster_has_none_below_it() {
    let edge = issue(&root(), "edge-1", &Profile::INTERMEDIATE, now()).unwrap();
    let refused = issue(&edge, "below", &Profile::INTERMEDIATE, now()).unwrap_err();
    assert_eq!(fault(refused), Fault::PathLength { needed: 1 });
}

#[test]
fn a_lifetime_out_of_its_limits_and_the_issuers_name_are_refused() {
    let root = root();
    for lifetime in [LIFETIME_MIN - SignedDuration::from_secs(1), LIFETIME_MAX + SignedDuration::from_secs(1)]
    {
        let refused =
            issue(&root, "edge-1", &Profile { lifetime, ..Profile::INTERMEDIATE }, now()).unwrap_err();
        assert!(matches!(refused, IssueError::Lifetime { found } if found == lifetime));
    }
    assert_eq!(fault(issue(&root, "root", &Profile::INTERMEDIATE, now()).unwrap_err()), Fault::SelfIssued);
}

#[test]
fn a_stored_authority_marks_its_key_as_secret_and_is_checked_when_it_comes_back() {
    let root = root();
    let edge = issue(&root, "edge-1", &Profile::INTERMEDIATE, now()).unwrap();
    let mut stored = serde_json::to_value(&edge).unwrap();
    assert!(stored["key"]["$secret"].as_str().unwrap().contains("PRIVATE KEY"));
    assert!(!format!("{edge:?}").contains("PRIVATE KEY"));
    assert_eq!(serde_json::from_value::<Authority>(stored.clone()).unwrap(), edge);
    stored["certificates"] = root.certificate().into();
    let error = serde_json::from_value::<Authority>(stored).unwrap_err();
    assert!(error.to_string().contains("the private key must be that of the first certificate"), "{error}");
}

/// An authority as others make it.
struct Foreign {
    parameters: CertificateParams,
    key: KeyPair,
}

impl Foreign {
    fn new(name: &str) -> Self {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        (parameters.not_before, parameters.not_after) =
            (date_time_ymd(2029, 1, 1), date_time_ymd(2039, 1, 1));
        Self { parameters, key: KeyPair::generate().unwrap() }
    }

    fn with(mut self, change: impl FnOnce(&mut CertificateParams)) -> Self {
        change(&mut self.parameters);
        self
    }

    fn key(&self) -> Secret {
        Secret::new(self.key.serialize_pem())
    }

    fn root(self) -> CertifiedIssuer<'static, KeyPair> {
        CertifiedIssuer::self_signed(self.parameters, self.key).unwrap()
    }

    /// Its certificate and that of its issuer, and its key.
    fn below(self, issuer: &CertifiedIssuer<'static, KeyPair>) -> (String, Secret) {
        let certificate = self.parameters.signed_by(&self.key, issuer).unwrap();
        (format!("{}{}", certificate.pem(), issuer.pem()), self.key())
    }
}

#[test]
fn a_company_root_and_an_authority_below_it_issue_for_clusters() {
    let company = Foreign::new("company").root();
    let (chain, key) = Foreign::new("clouds").below(&company);
    let clouds = Authority::new(&format!("subject=clouds\n{chain}"), &key).unwrap();
    let edge = issue(&clouds, "edge-1", &Profile::INTERMEDIATE, now()).unwrap();
    assert_eq!(edge.ca_certs().cert_chain.len(), 3);
    assert_eq!(edge.root_certificate(), company.pem());
    for algorithm in [&PKCS_ECDSA_P521_SHA512, &PKCS_ED25519] {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let own = Foreign { key, ..Foreign::new("company") };
        let key = own.key();
        let root = Authority::new(&own.root().pem(), &key).unwrap();
        assert!(issue(&root, "edge-1", &Profile::INTERMEDIATE, now()).is_ok());
    }
}

#[test]
fn what_does_not_fit_is_refused_with_its_place_and_its_fault() {
    let company = Foreign::new("company").root();
    let other = Foreign::new("company").root();
    let case = |change: fn(&mut CertificateParams)| Foreign::new("clouds").with(change).below(&company);
    let outlives =
        Fault::Outlives { not_before: time("2029-01-01T00:00:00Z"), not_after: time("2039-01-01T00:00:00Z") };
    let (good, key) = case(|_| {});
    let stranger = good.replace(&company.pem(), &other.pem());
    let alone = good.replace(&company.pem(), "");
    for ((chain, key), position, fault) in [
        (case(|one| one.is_ca = IsCa::ExplicitNoCa), 1, Fault::NotAuthority),
        (case(|one| one.key_usages = vec![KeyUsagePurpose::KeyCertSign]), 1, Fault::KeyUsage),
        (case(|one| one.key_usages = vec![KeyUsagePurpose::CrlSign]), 1, Fault::KeyUsage),
        (case(|one| one.not_after = date_time_ymd(2039, 1, 2)), 1, outlives.clone()),
        (case(|one| one.not_before = date_time_ymd(2028, 12, 31)), 1, outlives),
        ((stranger, key.clone()), 1, Fault::Issuer { issuer: "the next certificate" }),
        ((alone, key), 1, Fault::Issuer { issuer: "itself, as the root" }),
        (
            Foreign::new("clouds").below(
                &Foreign::new("a").with(|one| one.is_ca = IsCa::Ca(BasicConstraints::Constrained(0))).root(),
            ),
            2,
            Fault::PathLength { needed: 1 },
        ),
    ] {
        match Authority::new(&chain, &key).unwrap_err() {
            Refused::Certificate { position: at, fault: found, .. } => {
                assert_eq!((at, found), (position, fault));
            }
            error => panic!("{error}: {fault:?}"),
        }
    }
}

#[test]
fn extensions_that_limit_workloads_are_refused() {
    let company = Foreign::new("company").root();
    let case = |change: fn(&mut CertificateParams)| {
        let (chain, key) = Foreign::new("clouds").with(change).below(&company);
        Authority::new(&chain, &key).map(drop).map_err(|error| error.to_string())
    };
    let both = [ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    assert_eq!(case(|one| one.extended_key_usages = vec![ExtendedKeyUsagePurpose::Any]), Ok(()));
    let (chain, key) =
        Foreign::new("clouds").with(|one| one.extended_key_usages = both.to_vec()).below(&company);
    assert!(Authority::new(&chain, &key).is_ok());
    let error = case(|one| one.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth]).unwrap_err();
    assert!(
        error.ends_with("must have both server and client authentication, or any, or be absent"),
        "{error}"
    );
    let unknown = |is_critical| {
        let mut extension = rcgen::CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0]);
        extension.set_criticality(is_critical);
        let with = |one: &mut CertificateParams| one.custom_extensions = vec![extension];
        let (chain, key) = Foreign::new("clouds").with(with).below(&company);
        Authority::new(&chain, &key).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(unknown(false), Ok(()));
    assert_eq!(
        unknown(true),
        Err("certificate 1, \"CN=clouds\": its extension 1.2.3.4 is not supported".to_owned())
    );
    let constrained = case(|one| {
        let permitted_subtrees = vec![GeneralSubtree::DnsName("corp".to_owned())];
        one.name_constraints = Some(NameConstraints { permitted_subtrees, excluded_subtrees: Vec::new() });
    });
    assert!(constrained.unwrap_err().ends_with("its extension 2.5.29.30 is not supported"));
}

#[test]
fn a_root_that_is_replaced_and_its_successor_are_trusted_together() {
    let [old, new] = [root(), root()];
    let edge = issue(&old, "edge-1", &Profile::INTERMEDIATE, now()).unwrap();
    let [.., (name, roots), _] = edge.ca_certs().trusting(&new).files();
    assert_eq!(
        (name, roots.expose()),
        ("root-cert.pem", &*format!("{}{}", old.certificate(), new.certificate()))
    );
}

#[test]
fn an_issuer_that_is_almost_over_or_of_another_trust_domain_issues_nothing() {
    let root = root();
    let not_after = root.facts().not_after;
    let late = not_after - LIFETIME_MIN + SignedDuration::from_secs(1);
    assert_eq!(
        fault(issue(&root, "edge-1", &Profile::INTERMEDIATE, late).unwrap_err()),
        Fault::EndsSoon { not_after }
    );
    let trust_domain = TrustDomain::new("lc2.proj1").unwrap();
    let other = Template { trust_domain, ..template("edge-1", &Profile::INTERMEDIATE) };
    let refused = root.issue(&SystemKeys, &other, now()).unwrap_err();
    assert_eq!(fault(refused), Fault::TrustDomain { found: domain() });
}

#[test]
fn texts_that_are_no_certificates_or_no_key_are_refused_and_never_shown() {
    let root = root();
    let key = root.ca_certs().ca_key;
    let many = root.certificate().repeat(CHAIN_MAX + 1);
    let large = format!("{}{}", "x".repeat(crate::pki::CERTIFICATES_BYTES_MAX), root.certificate());
    for text in ["", "nothing", key.expose(), &many, &large, &root.certificate().replace('M', "N")] {
        assert_eq!(Authority::new(text, key), Err(Refused::NotCertificates), "{text:.40}");
    }
    let two = key.expose().repeat(2);
    let encrypted = key.expose().replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    for text in [
        "",
        root.certificate(),
        &two,
        &encrypted,
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
    ] {
        assert_eq!(
            Authority::new(root.certificate(), &Secret::new(text)),
            Err(Refused::NotKey),
            "{text:.40}"
        );
    }
    let stranger = Foreign::new("other").key();
    let error = Authority::new(&chain(&root), &stranger).unwrap_err();
    assert!(matches!(error, Refused::OtherKey { .. }), "{error}");
    assert!(!error.is_retryable());
}
