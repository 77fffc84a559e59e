//! Who callers are, by the certificates that they show in a handshake and by static tokens, over real sockets and files.
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as the tests do")]
#![cfg(unix)]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use dcm_identity::name::{Invalid, Kind};
use dcm_identity::settings::{ClientCertificates, Issuer, Tokens};
use dcm_identity::tokens::{self, New, RANDOM_BYTES, TokenFile};
use dcm_identity::{Authenticator, Refused, Settings, Unproved, tls};
use jiff::{SignedDuration, Timestamp};
use rcgen::{ExtendedKeyUsagePurpose, date_time_ymd};
use rustls::version::{TLS12, TLS13};

use crate::common::TestClock;
use crate::common::authority::{Authority, Issued};
use crate::common::served::{Client, serve};

/// A server, the authority of its clients, and one of the server itself.
struct World {
    folder: tempfile::TempDir,
    clients: Authority,
    servers: Authority,
    clock: Arc<TestClock>,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            folder,
            clients: Authority::new("clients"),
            servers: Authority::new("servers"),
            clock: TestClock::new(),
        }
    }

    fn settings(&self) -> Settings {
        let authorities = self.clients.write(self.folder.path(), "clients.pem");
        Settings { client_certificates: Some(ClientCertificates { authorities }), ..Settings::default() }
    }

    fn tokens(&self, entries: &TokenFile) -> PathBuf {
        let file = self.folder.path().join("tokens.yaml");
        std::fs::write(&file, entries.to_yaml()).unwrap();
        file
    }

    fn open(&self, settings: &Settings) -> Authenticator {
        let clock = Arc::clone(&self.clock);
        Authenticator::open(settings, clock).unwrap()
    }

    async fn serve(&self, settings: &Settings) -> SocketAddr {
        let files = self.servers.server().write(self.folder.path());
        let clock = Arc::clone(&self.clock);
        let config = tls::server(&files, &settings.clients(), &[tls::HTTP_1], clock).unwrap();
        serve(config, Some(Arc::new(self.open(settings)))).await
    }

    /// What a client hears, with both versions; none when it is refused in the handshake.
    async fn heard(&self, address: SocketAddr, shown: Option<&Issued>) -> [Option<String>; 2] {
        let mut heard = [None, None];
        for (heard, version) in heard.iter_mut().zip([&TLS12, &TLS13]) {
            let client = Client { versions: vec![version], ..Client::of(&self.servers) };
            *heard = client.connect(address, shown).await.ok().map(|heard| heard.text);
        }
        heard
    }
}

fn both(text: &str) -> [Option<String>; 2] {
    [Some(text.to_owned()), Some(text.to_owned())]
}

#[tokio::test]
async fn a_certificate_says_who_its_caller_is() {
    let world = World::new();
    let address = world.serve(&world.settings()).await;
    let alice = world.clients.client("alice", &["builders", "readers"], |_| ());
    assert_eq!(world.heard(address, Some(&alice)).await, both(r#"alice {"builders", "readers"}"#));
    let admin = world.clients.client("admin", &["system:masters"], |_| ());
    let refused = r#"refused: the name of a group begins with "system:", which is reserved"#;
    assert_eq!(world.heard(address, Some(&admin)).await, both(refused));
    let nobody = world.clients.client("", &["builders"], |params| {
        params.distinguished_name.remove(rcgen::DnType::CommonName);
    });
    let refused = "refused: the certificate has not one common name";
    assert_eq!(world.heard(address, Some(&nobody)).await, both(refused));
}

#[tokio::test]
async fn a_certificate_that_can_not_be_verified_ends_the_handshake() {
    let world = World::new();
    let strangers = Authority::new("clients");
    let expired = world.clients.client("alice", &[], |params| params.not_after = date_time_ymd(2020, 1, 1));
    let early = world.clients.client("alice", &[], |params| params.not_before = date_time_ymd(2500, 1, 1));
    let other = strangers.client("alice", &[], |_| ());
    let server = world.clients.client("alice", &[], |params| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    });
    let required = world.settings();
    let tokens = world.tokens(&TokenFile::default());
    let asked = Settings { tokens: Some(Tokens { file: tokens }), ..world.settings() };
    for settings in [required, asked] {
        let address = world.serve(&settings).await;
        for (what, shown) in
            [("expired", &expired), ("early", &early), ("other", &other), ("server", &server)]
        {
            assert_eq!(world.heard(address, Some(shown)).await, [None, None], "{what}: {settings:?}");
        }
    }
}

#[tokio::test]
async fn a_certificate_may_be_left_out_where_there_is_another_way() {
    let world = World::new();
    let address = world.serve(&world.settings()).await;
    assert_eq!(world.heard(address, None).await, [None, None]);
    let tokens = world.tokens(&TokenFile::default());
    let settings = Settings { tokens: Some(Tokens { file: tokens }), ..world.settings() };
    let address = world.serve(&settings).await;
    assert_eq!(world.heard(address, None).await, both("nobody"));
    let alice = world.clients.client("alice", &[], |_| ());
    assert_eq!(world.heard(address, Some(&alice)).await, both("alice {}"));
}

#[tokio::test]
async fn a_certificate_that_has_expired_meanwhile_proves_nothing_any_more() {
    let world = World::new();
    let authenticator = world.open(&world.settings());
    let alice = world.clients.client("alice", &[], |params| params.not_after = date_time_ymd(2100, 1, 1));
    let certificate = alice.certificate.der();
    let until: Timestamp = "2100-01-01T00:00:00Z".parse().unwrap();
    assert_eq!(authenticator.certificate(certificate).unwrap().until(), Some(until));
    world.clock.advance(SignedDuration::from_hours(100 * 365 * 24));
    assert_eq!(authenticator.certificate(certificate), Err(Refused::Expired(until)));
}

fn new(user: &str) -> New {
    New { name: "ci".to_owned(), user: user.to_owned(), groups: ["builders".to_owned()].into(), until: None }
}

fn made(user: &str) -> tokens::Made {
    let mut random = [0; RANDOM_BYTES];
    getrandom::fill(&mut random).unwrap();
    tokens::make(new(user), &random).unwrap()
}

#[tokio::test]
async fn a_static_token_says_who_its_caller_is_until_it_is_taken_out_of_the_file() {
    let world = World::new();
    let made = made("robot");
    let file = world.tokens(&TokenFile { tokens: vec![made.entry.clone()] });
    let settings = Settings { tokens: Some(Tokens { file }), ..Settings::default() };
    let authenticator = world.open(&settings);
    let identity = authenticator.bearer(made.token.expose()).await.unwrap();
    assert_eq!((identity.user(), identity.proof().to_string().as_str()), ("robot", "static token ci"));
    world.tokens(&TokenFile::default());
    world.clock.advance(SignedDuration::from_secs(1));
    let error = authenticator.bearer(made.token.expose()).await.unwrap_err();
    assert!(matches!(error, Unproved::Refused(Refused::Token(_))), "{error}");
    assert!(!error.to_string().contains(&made.token.expose()[21..]), "{error}");
}

#[tokio::test]
async fn nobody_takes_the_names_of_an_issuers_users() {
    let world = World::new();
    let issuer =
        Issuer { groups_claim: Some("groups".to_owned()), ..Issuer::new("https://login.example.com", "dcm") };
    let name = "https://login.example.com#alice";
    let made = made(name);
    let file = world.tokens(&TokenFile { tokens: vec![made.entry] });
    let authorities = world.clients.write(world.folder.path(), "issuer.pem");
    let issuer = Issuer { authorities: Some(authorities), ..issuer };
    let settings = Settings { tokens: Some(Tokens { file }), oidc: vec![issuer], ..world.settings() };
    let authenticator = world.open(&settings);
    let user: Refused = Invalid::OfAnother(Kind::User).into();
    let error = authenticator.bearer(made.token.expose()).await.unwrap_err();
    assert!(matches!(error, Unproved::Refused(refused) if refused == user));
    let certificate = |user: &str, groups: &[&str]| {
        let issued = world.clients.client(user, groups, |_| ());
        authenticator.certificate(issued.certificate.der()).map(drop)
    };
    assert_eq!(certificate(name, &[]), Err(user));
    assert_eq!(certificate("alice", &[name]), Err(Invalid::OfAnother(Kind::Group).into()));
    assert_eq!(certificate("alice", &["https://login.example.org#builders"]), Ok(()));
}

#[tokio::test]
async fn what_is_not_configured_is_not_taken() {
    let world = World::new();
    let authenticator = world.open(&Settings::default());
    let alice = world.clients.client("alice", &[], |_| ());
    assert_eq!(authenticator.certificate(alice.certificate.der()), Err(Refused::Method));
    for token in [made("robot").token.expose(), "a.b.c"] {
        let error = authenticator.bearer(token).await.unwrap_err();
        assert!(matches!(error, Unproved::Refused(Refused::Method)), "{error}");
    }
    for token in ["", "abc", "a.b", &"a".repeat(dcm_identity::bearer::TOKEN_BYTES_MAX + 1)] {
        assert!(matches!(authenticator.bearer(token).await, Err(Unproved::Refused(_))));
    }
}
