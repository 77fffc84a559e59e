//! Tokens of a real OpenID Connect issuer.

use std::time::Duration;

use dcm_testenv::Issuer;
use dcm_testenv::issuer::Builder;
use serde_json::{Value, json};

use crate::access::callers::Guarded;
use crate::common::installation::until;
use crate::common::server::Server;

fn builder() -> Builder {
    Issuer::builder().client("dcm").client("other").user("alice", &["shop"]).user("mallory", &[])
}

/// What a server is told of an issuer whose group `shop` sees a project.
fn settings(issuer: &Issuer) -> Value {
    let group = format!("{}#shop", issuer.url());
    json!({
        "authentication": {"oidc": [{
            "issuer": issuer.url(), "audiences": ["dcm"], "groupsClaim": "groups", "authorities": issuer.authority(),
        }]},
        "roles": [{"role": "project-viewer", "projects": ["shop-1"], "groups": [group]}],
    })
}

fn status(server: &Server, token: &str) -> String {
    let answer = server.ask(&format!("GET /v2/projects\nAuthorization: Bearer {token}"));
    answer.lines().next().unwrap().to_owned()
}

/// The token without a signature, as if none were needed.
fn unsigned(token: &str) -> String {
    let claims = token.split('.').nth(1).unwrap();
    // {"alg":"none","typ":"JWT"}
    format!("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{claims}.")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_the_issuer_says_who_asks_and_no_other_token_does() {
    let (issuer, foreign) = (builder().start().await.unwrap(), builder().start().await.unwrap());
    let guarded = Guarded::new();
    guarded.configure(&settings(&issuer));
    let (server, _) = guarded.serve("--listen");
    let token = issuer.id_token("dcm", "alice").await.unwrap();
    assert_eq!(status(&server, &token), "200");
    // Somebody who proves who they are, and has no role.
    assert_eq!(status(&server, &issuer.id_token("dcm", "mallory").await.unwrap()), "403");
    let refused = [
        foreign.id_token("dcm", "alice").await.unwrap(),
        issuer.id_token("other", "alice").await.unwrap(),
        unsigned(&token),
    ];
    for (index, token) in refused.iter().enumerate() {
        assert_eq!(status(&server, token), "401", "{index}");
    }
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_refused_when_it_has_expired_and_events_end_with_it() {
    let issuer = builder().lifetime(Duration::from_secs(8)).start().await.unwrap();
    let guarded = Guarded::new();
    let mut settings = settings(&issuer);
    // Who makes what is followed.
    settings["authentication"]["tokens"] = json!({"file": "tokens.yaml"});
    settings["roles"].as_array_mut().unwrap().push(json!({"role": "platform-admin", "users": ["platform"]}));
    guarded.configure(&settings);
    let (server, headers) = guarded.serve("--listen");
    let platform = headers.of("platform");
    let made =
        server.ask(&format!("POST /v2/projects\n{platform}\n\n{{\"metadata\": {{\"name\": \"shop-1\"}}}}"));
    assert!(made.starts_with("201\n"), "{made}");
    let cloud = "/v2/projects/shop-1/logical-clouds/stall";
    let made = server.ask(&format!("PUT {cloud}\n{platform}\n\n{{\"spec\": {{}}}}"));
    assert!(made.starts_with("200\n"), "{made}");

    let events = until("events that begin while the token lives", async || {
        let token = issuer.id_token("dcm", "alice").await.unwrap();
        let header = format!("Authorization: Bearer {token}");
        let mut events = server.follow_as(&format!("{cloud}/events"), &header);
        let first = events.next().filter(|_| events.head.starts_with("200"));
        // On a busy machine the token may have expired before, and another one is needed.
        first.map(|first| (token, events, first))
    });
    let (token, mut events, first) = events.await;
    assert!(first.contains("event: status"), "{first}");
    assert_eq!(events.next(), None, "they end with the token");
    until("an end of the token", async || (status(&server, &token) == "401").then_some(())).await;
    server.stop();
}
