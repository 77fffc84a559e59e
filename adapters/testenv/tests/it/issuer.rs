//! An OpenID Connect issuer makes tokens, is away, and comes back with another key.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dcm_testenv::Issuer;
use dcm_testenv::issuer::{Algorithm, LoginError};
use serde_json::{Value, json};

fn part(token: &str, index: usize) -> Value {
    let part = token.split('.').nth(index).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

#[tokio::test]
async fn a_token_says_who_logged_in_where_and_for_how_long() {
    let builder = Issuer::builder().client("shop").client("till").user("alice", &["builders", "readers"]);
    let issuer = builder.user("bob", &[]).lifetime(Duration::from_secs(90)).start().await.unwrap();
    let token = issuer.id_token("shop", "alice").await.unwrap();
    let claims = part(&token, 1);
    for (claim, expected) in [
        ("iss", json!(issuer.url())),
        ("aud", json!(["shop"])),
        ("sub", json!("alice")),
        ("groups", json!(["builders", "readers"])),
        ("email", json!("alice@example.com")),
        ("email_verified", json!(true)),
        ("preferred_username", json!("alice")),
    ] {
        assert_eq!(claims[claim], expected, "{claims}");
    }
    let number = |claim: &str| claims[claim].as_i64().unwrap();
    assert!((89..=91).contains(&(number("exp") - number("iat"))), "{claims}");
    let other = part(&issuer.id_token("till", "bob").await.unwrap(), 1);
    assert_eq!((&other["aud"], &other["sub"]), (&json!(["till"]), &json!("bob")));
}

#[tokio::test]
async fn whoever_is_not_known_gets_no_token() {
    let issuer = Issuer::builder().client("shop").user("alice", &[]).start().await.unwrap();
    for (client, user) in [("shop", "mallory"), ("other", "alice")] {
        let error = issuer.id_token(client, user).await.unwrap_err();
        assert!(matches!(error, LoginError::Refused { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_restarted_issuer_has_another_key_and_a_killed_one_is_away() {
    let builder = Issuer::builder().client("shop").user("alice", &[]).algorithm(Algorithm::Es256);
    let issuer = builder.start().await.unwrap();
    let first = part(&issuer.id_token("shop", "alice").await.unwrap(), 0);
    assert_eq!(first["alg"], "ES256");
    issuer.kill();
    let error = issuer.id_token("shop", "alice").await.unwrap_err();
    assert!(error.is_retryable(), "{error}");
    issuer.restart().await.unwrap();
    let second = part(&issuer.id_token("shop", "alice").await.unwrap(), 0);
    assert_ne!(first["kid"], second["kid"]);
}
