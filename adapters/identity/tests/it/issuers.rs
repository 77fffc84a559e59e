//! Tokens of a real issuer: taken, refused, and what can't be checked when the issuer is away.
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as the tests do")]
#![cfg(unix)]

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dcm_core::port::clock::Clock as _;
use dcm_identity::oidc::{KEYS_AGE_MAX, KEYS_REFRESH_AGE, REFRESH_INTERVAL};
use dcm_identity::{Authenticator, Identity, Refused, Settings, Unproved, settings};
use dcm_testenv::Issuer;
use dcm_testenv::issuer::Algorithm;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::common::TestClock;

const CLIENT: &str = "dcm";
const USER: &str = "alice";

async fn issuer() -> Issuer {
    builder().start().await.unwrap()
}

fn builder() -> dcm_testenv::issuer::Builder {
    Issuer::builder().client(CLIENT).client("other").user(USER, &["builders", "readers"])
}

fn settings_of(issuer: &Issuer) -> settings::Issuer {
    settings::Issuer {
        groups_claim: Some("groups".to_owned()),
        authorities: Some(issuer.authority()),
        ..settings::Issuer::new(issuer.url(), CLIENT)
    }
}

fn open(issuers: impl IntoIterator<Item = settings::Issuer>, clock: &Arc<TestClock>) -> Authenticator {
    let settings = Settings { oidc: issuers.into_iter().collect(), ..Settings::default() };
    let clock = Arc::clone(clock);
    Authenticator::open(&settings, clock).unwrap()
}

async fn token(issuer: &Issuer) -> String {
    issuer.id_token(CLIENT, USER).await.unwrap()
}

/// Why a token is refused; a token that is taken, or can't be checked, fails the test.
async fn refused(authenticator: &Authenticator, token: &str) -> Refused {
    let error = authenticator.bearer(token).await.unwrap_err();
    let shown = format!("{error} {error:?}");
    for part in token.split('.').filter(|part| part.len() > 20) {
        assert!(!shown.contains(part), "a part of the token is shown: {shown}");
    }
    match error {
        Unproved::Refused(refused) => refused,
        Unproved::Unavailable(error) => panic!("{error}"),
    }
}

async fn is_unavailable(authenticator: &Authenticator, token: &str) -> bool {
    matches!(authenticator.bearer(token).await, Err(Unproved::Unavailable(_)))
}

fn decoded(token: &str, index: usize) -> Value {
    let part = token.split('.').nth(index).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

fn encoded(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

/// A token with another header or other claims, and the signature that it had.
fn changed(token: &str, header: &Value, claims: &Value) -> String {
    let signature = token.rsplit_once('.').unwrap().1;
    format!("{}.{}.{signature}", encoded(header), encoded(claims))
}

fn with(value: &Value, name: &str, member: Value) -> Value {
    let mut value = value.clone();
    value[name] = member;
    value
}

#[tokio::test]
async fn a_token_says_who_its_caller_is_whatever_it_is_signed_with() {
    for algorithm in
        [Algorithm::Rs256, Algorithm::Ps256, Algorithm::Es256, Algorithm::Es384, Algorithm::EdDsa]
    {
        let issuer = builder().algorithm(algorithm).start().await.unwrap();
        let authenticator = open([settings_of(&issuer)], &TestClock::new());
        let token = token(&issuer).await;
        assert_eq!(decoded(&token, 0)["alg"], algorithm.to_string());
        let identity = authenticator.bearer(&token).await.unwrap();
        let named = |name: &str| format!("{}#{name}", issuer.url());
        let until = Timestamp::from_second(decoded(&token, 1)["exp"].as_i64().unwrap()).unwrap();
        let proof = identity.proof().clone();
        assert_eq!(proof.to_string(), format!("token of {}", issuer.url()));
        let groups = ["builders", "readers"].map(named);
        assert_eq!(identity, Identity::new(named(USER), groups, Some(until), proof).unwrap());
    }
}

#[tokio::test]
async fn claims_and_prefixes_are_those_of_the_settings() {
    let issuer = issuer().await;
    let settings = settings::Issuer {
        username_claim: "email".to_owned(),
        username_prefix: Some(String::new()),
        groups_prefix: Some("edge:".to_owned()),
        audiences: vec!["x".to_owned(), CLIENT.to_owned()],
        ..settings_of(&issuer)
    };
    let identity = open([settings], &TestClock::new()).bearer(&token(&issuer).await).await.unwrap();
    assert_eq!(identity.user(), "alice@example.com");
    assert_eq!(identity.groups().iter().collect::<Vec<_>>(), ["edge:builders", "edge:readers"]);
}

#[tokio::test]
async fn a_token_that_has_expired_is_refused() {
    let issuer = builder().lifetime(Duration::from_secs(90)).start().await.unwrap();
    let clock = TestClock::new();
    let authenticator = open([settings_of(&issuer)], &clock);
    let token = token(&issuer).await;
    let until = authenticator.bearer(&token).await.unwrap().until().unwrap();
    let left = until.duration_since(clock.now());
    clock.advance(left - SignedDuration::from_secs(1));
    assert!(authenticator.bearer(&token).await.is_ok());
    clock.advance(SignedDuration::from_secs(2));
    let refused = refused(&authenticator, &token).await;
    assert_eq!(refused, Refused::Expired(until));
    assert_eq!(refused.told(), "The credential has expired, or is not valid yet.");
}

#[tokio::test]
async fn a_token_of_another_issuer_or_for_another_audience_is_refused() {
    let (issuer, stranger) = (issuer().await, issuer().await);
    let authenticator = open([settings_of(&issuer)], &TestClock::new());
    let foreign = token(&stranger).await;
    assert_eq!(refused(&authenticator, &foreign).await, Refused::Issuer(stranger.url()));
    // One who says that they are the issuer, and signs with a key of their own.
    let claims = with(&decoded(&foreign, 1), "iss", json!(issuer.url()));
    let posing = changed(&foreign, &decoded(&foreign, 0), &claims);
    assert_eq!(refused(&authenticator, &posing).await, Refused::Key);
    let named = with(&decoded(&foreign, 0), "kid", decoded(&token(&issuer).await, 0)["kid"].clone());
    assert_eq!(refused(&authenticator, &changed(&foreign, &named, &claims)).await, Refused::Signature);
    let other = issuer.id_token("other", USER).await.unwrap();
    assert_eq!(refused(&authenticator, &other).await, Refused::Audience);
}

#[tokio::test]
async fn two_issuers_are_told_apart() {
    let (one, other) = (issuer().await, issuer().await);
    let authenticator = open([settings_of(&one), settings_of(&other)], &TestClock::new());
    for issuer in [&one, &other] {
        let identity = authenticator.bearer(&token(issuer).await).await.unwrap();
        assert_eq!(identity.user(), format!("{}#{USER}", issuer.url()));
    }
}

#[tokio::test]
async fn a_token_without_a_signature_is_refused() {
    let issuer = issuer().await;
    let authenticator = open([settings_of(&issuer)], &TestClock::new());
    let token = token(&issuer).await;
    assert!(authenticator.bearer(&token).await.is_ok());
    let (header, claims) = (decoded(&token, 0), decoded(&token, 1));
    for algorithm in ["none", "None", "NONE", "nOnE", ""] {
        let header = with(&header, "alg", json!(algorithm));
        let unsigned = format!("{}.{}.", encoded(&header), encoded(&claims));
        assert_eq!(refused(&authenticator, &unsigned).await, Refused::Algorithm, "{algorithm}");
        assert_eq!(refused(&authenticator, &changed(&token, &header, &claims)).await, Refused::Algorithm);
    }
    let empty = format!("{}.", token.rsplit_once('.').unwrap().0);
    assert_eq!(refused(&authenticator, &empty).await, Refused::Signature);
}

#[tokio::test]
async fn a_public_key_is_no_shared_secret() {
    let issuer = issuer().await;
    let authenticator = open([settings_of(&issuer)], &TestClock::new());
    let token = token(&issuer).await;
    assert!(authenticator.bearer(&token).await.is_ok());
    let published = common::web::get(issuer.address(), &issuer.authority(), "/keys").await;
    let key = &published["keys"][0];
    let secrets = [
        key.to_string().into_bytes(),
        key["n"].as_str().unwrap().as_bytes().to_vec(),
        URL_SAFE_NO_PAD.decode(key["n"].as_str().unwrap()).unwrap(),
    ];
    let header = with(&decoded(&token, 0), "alg", json!("HS256"));
    let message = format!("{}.{}", encoded(&header), encoded(&decoded(&token, 1)));
    for secret in secrets {
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &secret), message.as_bytes());
        let forged = format!("{message}.{}", URL_SAFE_NO_PAD.encode(tag));
        assert_eq!(refused(&authenticator, &forged).await, Refused::Algorithm);
    }
    // Nor does the key check what it is not for.
    for (algorithm, expected) in
        [("RS384", Refused::Key), ("PS256", Refused::Key), ("ES256", Refused::Key), ("EdDSA", Refused::Key)]
    {
        let header = with(&header, "alg", json!(algorithm));
        let other = changed(&token, &header, &decoded(&token, 1));
        assert_eq!(refused(&authenticator, &other).await, expected, "{algorithm}");
    }
}

#[tokio::test]
async fn nothing_in_a_token_can_be_changed() {
    let issuer = issuer().await;
    let authenticator = open([settings_of(&issuer)], &TestClock::new());
    let token = token(&issuer).await;
    let (header, claims) = (decoded(&token, 0), decoded(&token, 1));
    for (claim, value) in [
        ("sub", json!("mallory")),
        ("groups", json!(["admins"])),
        ("exp", json!(claims["exp"].as_i64().unwrap() + 1)),
    ] {
        let changed = changed(&token, &header, &with(&claims, claim, value));
        assert_eq!(refused(&authenticator, &changed).await, Refused::Signature, "{claim}");
    }
    let message = token.rsplit_once('.').unwrap().0;
    let mut signature = URL_SAFE_NO_PAD.decode(token.rsplit_once('.').unwrap().1).unwrap();
    signature[7] ^= 1;
    let flipped = format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature));
    assert_eq!(refused(&authenticator, &flipped).await, Refused::Signature);
    // It is still good after all of them.
    assert!(authenticator.bearer(&token).await.is_ok());
}

#[tokio::test]
async fn garbage_is_refused() {
    let issuer = issuer().await;
    let authenticator = open([settings_of(&issuer)], &TestClock::new());
    let token = token(&issuer).await;
    let nested = format!("{}1{}", "[".repeat(2000), "]".repeat(2000));
    let deep = format!("{}.{}.x", encoded(&json!({"alg": "RS256"})), URL_SAFE_NO_PAD.encode(nested));
    for garbage in [
        String::new(),
        "..".to_owned(),
        "a.b.c".to_owned(),
        format!("{token}."),
        format!(".{token}"),
        format!("{token}="),
        token.replace('.', ".."),
        token.replace('.', " "),
        token[..token.len() / 2].to_owned(),
        format!("{}.{}", token.split('.').next().unwrap(), token),
        "ä.ö.ü".to_owned(),
        "\0.\0.\0".to_owned(),
        deep,
        "a".repeat(1 << 20),
    ] {
        refused(&authenticator, &garbage).await;
    }
}

#[tokio::test]
async fn new_keys_of_an_issuer_are_fetched_when_they_are_needed_and_old_ones_count_no_more() {
    let issuer = issuer().await;
    let clock = TestClock::new();
    let authenticator = open([settings_of(&issuer)], &clock);
    let old = token(&issuer).await;
    assert!(authenticator.bearer(&old).await.is_ok());
    issuer.restart().await.unwrap();
    let new = token(&issuer).await;
    // It was asked just now.
    assert_eq!(refused(&authenticator, &new).await, Refused::Key);
    clock.advance(REFRESH_INTERVAL);
    assert!(authenticator.bearer(&new).await.is_ok());
    assert_eq!(refused(&authenticator, &old).await, Refused::Key);
}

#[tokio::test]
async fn an_issuer_that_is_away_is_missed_only_when_its_keys_are() {
    let issuer = builder().lifetime(Duration::from_secs(1_000_000)).start().await.unwrap();
    let token = token(&issuer).await;
    let clock = TestClock::new();
    let authenticator = open([settings_of(&issuer)], &clock);
    issuer.kill();
    // No keys yet.
    assert!(is_unavailable(&authenticator, &token).await);
    issuer.restart().await.unwrap();
    let token = issuer.id_token(CLIENT, USER).await.unwrap();
    // It was asked just now.
    assert!(is_unavailable(&authenticator, &token).await);
    clock.advance(REFRESH_INTERVAL);
    assert!(authenticator.bearer(&token).await.is_ok());
    issuer.kill();
    assert!(authenticator.bearer(&token).await.is_ok());
    clock.advance(KEYS_REFRESH_AGE);
    assert!(authenticator.bearer(&token).await.is_ok());
    // A key that is not known may be a new one: nobody can tell.
    let header = with(&decoded(&token, 0), "kid", json!("new"));
    let claims = decoded(&token, 1);
    clock.advance(REFRESH_INTERVAL);
    assert!(is_unavailable(&authenticator, &changed(&token, &header, &claims)).await);
    // A wrong signature by a known one is wrong.
    let forged = changed(&token, &decoded(&token, 0), &with(&claims, "sub", json!("mallory")));
    assert_eq!(refused(&authenticator, &forged).await, Refused::Signature);
    clock.advance(KEYS_AGE_MAX - KEYS_REFRESH_AGE - REFRESH_INTERVAL - SignedDuration::from_secs(60));
    assert!(authenticator.bearer(&token).await.is_ok());
    clock.advance(SignedDuration::from_secs(60));
    assert!(is_unavailable(&authenticator, &token).await);
}

#[tokio::test]
async fn an_issuer_with_a_certificate_of_somebody_else_is_not_believed() {
    let (issuer, other) = (issuer().await, issuer().await);
    let settings = settings::Issuer { authorities: Some(other.authority()), ..settings_of(&issuer) };
    let authenticator = open([settings], &TestClock::new());
    assert!(is_unavailable(&authenticator, &token(&issuer).await).await);
}
