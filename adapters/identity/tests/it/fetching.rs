//! How often an issuer is asked for its keys, and which answers are not believed.
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as the tests do")]
#![cfg(unix)]

use std::sync::Arc;

use aws_lc_rs::signature::Ed25519KeyPair;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dcm_core::causes;
use dcm_identity::oidc::{DOCUMENT_BYTES_MAX, KEYS_REFRESH_AGE, REFRESH_INTERVAL};
use dcm_identity::{Authenticator, Refused, Settings, Unproved, settings};
use futures::future::join_all;
use jiff::Timestamp;
use rcgen::{KeyPair, PKCS_ED25519, PublicKeyData as _};
use serde_json::{Value, json};

use crate::common::TestClock;
use crate::common::authority::Authority;
use crate::common::web::{Answer, Web, json as answer};

const DISCOVERY: &str = "/.well-known/openid-configuration";

/// An issuer's key, what is published of it, and tokens by it.
struct Signer(KeyPair);

impl Signer {
    fn new() -> Self {
        Self(KeyPair::generate_for(&PKCS_ED25519).unwrap())
    }

    fn published(&self) -> Value {
        json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "use": "sig", "x": URL_SAFE_NO_PAD.encode(self.0.der_bytes())}]})
    }

    fn token(&self, issuer: &str) -> String {
        let until = Timestamp::now().as_second() + 1_000_000;
        let claims = json!({"iss": issuer, "aud": "dcm", "sub": "alice", "exp": until});
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", part(&json!({"alg": "EdDSA"})), part(&claims));
        let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(self.0.serialized_der()).unwrap();
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(key.sign(message.as_bytes())))
    }
}

/// An issuer of a test's own, and who asks it.
struct World {
    web: Web,
    signer: Signer,
    clock: Arc<TestClock>,
    authenticator: Authenticator,
}

impl World {
    async fn new() -> Self {
        let (web, clock) = (Web::start().await, TestClock::new());
        let folder = tempfile::tempdir().unwrap();
        // Nobody needs it here, but not every machine has authorities of its own.
        let authorities = Some(Authority::new("issuers").write(folder.path(), "issuers.pem"));
        let issuer = settings::Issuer { authorities, ..settings::Issuer::new(web.url(), "dcm") };
        let settings = Settings { oidc: vec![issuer], ..Settings::default() };
        let authenticator = Authenticator::open(&settings, Arc::clone(&clock) as Arc<_>).unwrap();
        Self { web, signer: Signer::new(), clock, authenticator }
    }

    fn discovery(&self) -> Value {
        json!({"issuer": self.web.url(), "jwks_uri": format!("{}/keys", self.web.url())})
    }

    fn answer_well(&self) {
        let (discovery, keys) = (self.discovery(), self.signer.published());
        self.web.answer(move |path| if path == DISCOVERY { answer(&discovery) } else { answer(&keys) });
    }

    /// Why the keys can't be had.
    async fn unavailable(&self) -> String {
        let error = self.authenticator.bearer(&self.signer.token(&self.web.url())).await.unwrap_err();
        assert!(matches!(error, Unproved::Unavailable(_)), "{error}");
        causes::told(&error).replace(&self.web.url(), "")
    }
}

#[tokio::test]
async fn all_who_wait_for_keys_wait_for_one_fetch() {
    let world = World::new().await;
    world.answer_well();
    let token = world.signer.token(&world.web.url());
    assert_eq!(world.web.asked(), 0);
    for outcome in join_all((0..100).map(|_| world.authenticator.bearer(&token))).await {
        assert!(outcome.is_ok());
    }
    assert_eq!(world.web.asked(), 2);
}

#[tokio::test]
async fn tokens_by_unknown_keys_make_for_one_fetch_within_the_interval() {
    let world = World::new().await;
    world.answer_well();
    let (good, bad) = (world.signer.token(&world.web.url()), Signer::new().token(&world.web.url()));
    assert!(world.authenticator.bearer(&good).await.is_ok());
    for rounds in 1..4 {
        for outcome in join_all((0..50).map(|_| world.authenticator.bearer(&bad))).await {
            assert!(matches!(outcome, Err(Unproved::Refused(Refused::Signature))));
        }
        assert_eq!(world.web.asked(), 2 * rounds);
        world.clock.advance(REFRESH_INTERVAL);
    }
}

#[tokio::test]
async fn old_keys_are_fetched_again_without_anybody_waiting_for_it() {
    let world = World::new().await;
    world.answer_well();
    let token = world.signer.token(&world.web.url());
    assert!(world.authenticator.bearer(&token).await.is_ok());
    // From now on nobody is answered: whoever waits for it waits for good.
    world.web.answer(|_| None);
    world.clock.advance(KEYS_REFRESH_AGE);
    assert!(world.authenticator.bearer(&token).await.is_ok());
    world.web.is_asked(3).await;
    assert!(world.authenticator.bearer(&token).await.is_ok());
}

#[tokio::test]
async fn a_caller_who_goes_away_does_not_end_the_fetch() {
    let world = World::new().await;
    world.answer_well();
    let token = world.signer.token(&world.web.url());
    {
        let mut call = Box::pin(world.authenticator.bearer(&token));
        assert!(futures::poll!(&mut call).is_pending());
    }
    world.web.is_asked(2).await;
    assert!(world.authenticator.bearer(&token).await.is_ok());
    assert_eq!(world.web.asked(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_issuer_that_never_answers_is_waited_for_no_longer_than_the_limit() {
    let world = World::new().await;
    let began = tokio::time::Instant::now();
    let told = world.unavailable().await;
    assert!(told.starts_with("the keys of the issuer  can't be had: "), "{told}");
    // The clock jumps while packets are on their way, so it may be ahead of what they bring.
    assert!(began.elapsed() <= 2 * dcm_identity::oidc::FETCH_TIME_LIMIT, "{:?}", began.elapsed());
}

#[tokio::test]
async fn answers_that_are_not_those_of_the_issuer_are_not_believed() {
    let world = World::new().await;
    let moved = |to: &str| Some((format!("302 Found\r\nLocation: {to}"), String::new()));
    let discovery = world.discovery();
    let with = |name: &str, value: Value| {
        let mut discovery = discovery.clone();
        discovery[name] = value;
        answer(&discovery)
    };
    let url = world.web.url();
    let table: Vec<(Answer, &str)> = vec![
        (
            moved(&format!("{url}/elsewhere")),
            "the answer from /.well-known/openid-configuration was 302 Found",
        ),
        (Some(("404 Not Found".to_owned(), String::new())), "was 404 Not Found"),
        (with("issuer", json!(format!("{url}/"))), "and not, letter by letter, \"\""),
        (
            with("issuer", json!("https://login.example.com")),
            "is about the issuer \"https://login.example.com\"",
        ),
        (
            with("jwks_uri", json!("http://192.0.2.1/keys")),
            "for its keys, which is not asked: it begins with https://",
        ),
        (with("jwks_uri", json!("file:///etc/passwd")), "for its keys, which is not asked"),
        (with("jwks_uri", Value::Null), "is not understood"),
        (answer(&json!([])), "is not understood"),
        (answer(&json!("x".repeat(DOCUMENT_BYTES_MAX))), "has more than 524288 bytes"),
    ];
    for (first, expected) in table {
        let keys = world.signer.published();
        world.web.answer(move |path| if path == DISCOVERY { first.clone() } else { answer(&keys) });
        let told = world.unavailable().await;
        assert!(told.contains(expected), "{told}: {expected}");
        world.clock.advance(REFRESH_INTERVAL);
    }
    for (keys, expected) in [
        (answer(&json!({"keys": []})), "the issuer has no key that can check a signature"),
        (
            answer(&json!({"keys": [{"kty": "oct", "k": "c2VjcmV0"}]})),
            "the issuer has no key that can check a signature",
        ),
        (answer(&json!({})), "the answer from /keys is not understood"),
        (moved(&format!("{url}/elsewhere")), "the answer from /keys was 302 Found"),
    ] {
        let discovery = discovery.clone();
        world.web.answer(move |path| if path == DISCOVERY { answer(&discovery) } else { keys.clone() });
        let told = world.unavailable().await;
        assert!(told.contains(expected), "{told}: {expected}");
        world.clock.advance(REFRESH_INTERVAL);
    }
    world.answer_well();
    assert!(world.authenticator.bearer(&world.signer.token(&url)).await.is_ok());
}
