//! The verifier over chains of many algorithms, made with OpenSSL: each is an authority and a certificate for `server.invalid`
//! below its name, and for those that are refused the reason. Their private keys were never kept.

use std::io;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, PKCS_ECDSA_P256_SHA256,
    PKCS_ED25519, SignatureAlgorithm,
};
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, Error, OtherError, RootCertStore};

use crate::refused::explain;
use crate::{KeyError, PairError, Peer, client_verifier, pair, private_key, refused, server_verifier};

const ACCEPTED: &str = include_str!("fixtures/accepted.pem");
const REFUSED: &str = include_str!("fixtures/refused.pem");

/// An authority, and a certificate that it signed.
struct Chain {
    name: &'static str,
    authority: CertificateDer<'static>,
    server: CertificateDer<'static>,
}

fn chains(fixture: &'static str) -> Vec<Chain> {
    let mut certificates = CertificateDer::pem_slice_iter(fixture.as_bytes()).map(Result::unwrap);
    let mut next = || certificates.next().unwrap();
    let names = names(fixture);
    names.into_iter().map(|name| Chain { name, authority: next(), server: next() }).collect()
}

/// The lines outside of blocks.
fn names(fixture: &'static str) -> Vec<&'static str> {
    let mut is_inside = false;
    let outside = fixture.lines().filter(|line| {
        let was_inside = is_inside;
        is_inside = (is_inside || line.starts_with("-----BEGIN ")) && !line.starts_with("-----END ");
        !was_inside && !is_inside
    });
    outside.collect()
}

fn verifier(authority: &CertificateDer<'static>) -> std::sync::Arc<dyn ServerCertVerifier> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.clone()).unwrap();
    server_verifier(roots).unwrap()
}

fn verified(authority: &CertificateDer<'static>, server: &CertificateDer<'static>) -> Result<(), Error> {
    let name = ServerName::try_from("server.invalid").unwrap();
    // In the year 2033.
    let now = UnixTime::since_unix_epoch(Duration::from_secs(2_000_000_000));
    verifier(authority).verify_server_cert(server, &[], &name, &[], now).map(drop)
}

#[test]
fn what_go_verifies_is_verified() {
    let chains = chains(ACCEPTED);
    assert_eq!(chains.len(), 26);
    for Chain { name, authority, server } in chains {
        assert_eq!(verified(&authority, &server), Ok(()), "{name}");
    }
}

#[test]
fn what_is_not_supported_is_refused_by_its_name_and_never_as_a_broken_signature() {
    let chains = chains(REFUSED);
    assert_eq!(chains.len(), 19);
    for Chain { name, authority, server } in chains {
        let (_, reason) = name.split_once(": ").unwrap();
        // As a connection has it.
        let error = io::Error::other(io::Error::other(verified(&authority, &server).unwrap_err()));
        let message = refused(&error).map_or_else(|| error.to_string(), |refused| refused.to_string());
        assert!(message.contains(&format!("{reason}, which is not supported; use ")), "{name}: {message}");
        assert!(!message.contains("1.2.840"), "{name}: {message}");
    }
}

#[test]
fn a_verifier_that_explains_nothing_leads_to_the_same_names() {
    let (mut unexplained, mut found) = (0, 0);
    for Chain { name, authority, server } in chains(REFUSED) {
        let mut roots = RootCertStore::empty();
        roots.add(authority).unwrap();
        let builder =
            rustls::client::WebPkiServerVerifier::builder_with_provider(roots.into(), crate::provider());
        let now = UnixTime::since_unix_epoch(Duration::from_secs(2_000_000_000));
        let server_name = ServerName::try_from("server.invalid").unwrap();
        match builder.build().unwrap().verify_server_cert(&server, &[], &server_name, &[], now) {
            Err(error @ Error::InvalidCertificate(CertificateError::BadSignature)) => {
                assert_eq!(refused(&error), None, "{name}");
                unexplained += 1;
            }
            Err(error) => {
                let message = refused(&error).unwrap().to_string();
                assert!(message.contains("which is not supported; use "), "{name}: {message}");
                found += 1;
            }
            // The key of the server itself.
            Ok(_) => assert!(name.starts_with("leaf-"), "{name}"),
        }
    }
    assert_eq!((unexplained, found), (2, 11));
}

#[test]
fn a_signature_that_is_broken_stays_one() {
    for Chain { name, authority, server } in chains(ACCEPTED) {
        let mut changed = server.to_vec();
        let position = changed.windows(14).rposition(|part| part == b"server.invalid").unwrap();
        changed[position] = b'S';
        let error = verified(&authority, &CertificateDer::from(changed)).unwrap_err();
        assert_eq!(error, Error::InvalidCertificate(CertificateError::BadSignature), "{name}");
    }
}

/// An authority of this name whose key is of this kind, and a certificate that it signed for a key.
fn signed(
    name: &str,
    kind: &'static SignatureAlgorithm,
    key: &KeyPair,
) -> (CertifiedIssuer<'static, KeyPair>, CertificateDer<'static>) {
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, name);
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate_for(kind).unwrap()).unwrap();
    let server = CertificateParams::new(["server.invalid".to_owned()]).unwrap();
    let server = server.signed_by(key, &authority).unwrap().der().clone();
    (authority, server)
}

#[test]
fn another_authority_of_the_same_name_is_called_so() {
    let key = KeyPair::generate().unwrap();
    for (kind, other) in [(&PKCS_ECDSA_P256_SHA256, &PKCS_ED25519), (&PKCS_ED25519, &PKCS_ECDSA_P256_SHA256)]
    {
        let (_, server) = signed("a", kind, &key);
        let (trusted, _) = signed("a", other, &key);
        let error = verified(trusted.der(), &server).unwrap_err();
        let message = refused(&error).unwrap().to_string();
        assert!(
            message.ends_with("signed by another authority than the trusted one of that name"),
            "{message}"
        );
    }
    let (_, server) = signed("a", &PKCS_ED25519, &key);
    let (trusted, _) = signed("a", &PKCS_ED25519, &key);
    let broken = Error::InvalidCertificate(CertificateError::BadSignature);
    assert_eq!(verified(trusted.der(), &server), Err(broken.clone()));
    // An authority's signature by itself is not at fault, whatever it is.
    let by_sha1 = chains(REFUSED).into_iter().find(|chain| chain.name.starts_with("RSA MD5")).unwrap();
    let explained = explain(Peer::Server, broken.clone(), &[&server, &by_sha1.authority], &[]);
    assert_eq!(explained, broken);
}

#[test]
fn an_authority_in_the_chain_that_is_not_supported_is_called_by_its_name() {
    let (_, server) = signed("a", &PKCS_ED25519, &KeyPair::generate().unwrap());
    let short = chains(REFUSED).into_iter().find(|chain| chain.name.starts_with("RSA-1024")).unwrap();
    let broken = Error::InvalidCertificate(CertificateError::BadSignature);
    let explained = explain(Peer::Client, broken, &[&server, &short.authority], &[]);
    let Error::Other(OtherError(refused)) = explained else { panic!("{explained}") };
    let expected = "the client's certificate can't be verified: the authority CN=RSA-1024 above it: its key is RSA of 1024 bits, ";
    assert!(refused.to_string().starts_with(expected), "{refused}");
}

#[test]
fn clients_are_verified_by_the_same_rules() {
    let now = UnixTime::since_unix_epoch(Duration::from_secs(2_000_000_000));
    for Chain { name, authority, server } in chains(REFUSED) {
        let mut roots = RootCertStore::empty();
        roots.add(authority).unwrap();
        let verifier = client_verifier(roots, true).unwrap();
        assert!(verifier.client_auth_mandatory() && verifier.offer_client_auth());
        let error = verifier.verify_client_cert(&server, &[], now).unwrap_err();
        let (_, reason) = name.split_once(": ").unwrap();
        let message = error.to_string();
        assert!(message.contains("the client's certificate can't be verified: it"), "{name}: {message}");
        assert!(message.contains(reason), "{name}: {message}");
    }
}

#[test]
fn a_pair_without_a_certificate_is_refused_for_it_and_not_for_its_key() {
    let key = KeyPair::generate().unwrap().serialize_pem();
    let key = || private_key(key.as_bytes()).unwrap();
    assert!(matches!(pair(Vec::new(), key()), Err(PairError::Certificate(_))));
    let (_, other) = signed("a", &PKCS_ED25519, &KeyPair::generate().unwrap());
    assert!(matches!(pair(vec![other], key()), Err(PairError::Mismatch)));
    assert_eq!(private_key(b"no key").unwrap_err(), KeyError::Missing);
}
