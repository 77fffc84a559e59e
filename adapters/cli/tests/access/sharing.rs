//! Callers who share an address with others: whatever those send, these are let in.

use std::time::Duration;

use dcm_testenv::Issuer;
use serde_json::json;

use crate::callers::Guarded;

/// More than the limit of requests of these tests allows.
const MANY: usize = 50;

fn status(answer: &str) -> &str {
    answer.split('\n').next().unwrap()
}

#[test]
fn a_token_is_looked_at_however_often_others_ask_without_one() {
    let guarded = Guarded::new();
    guarded.configure(&json!({"requests": {"perSecond": 1, "burst": 1}}));
    let (server, headers) = guarded.serve("--listen");
    let forged = format!("Authorization: Bearer dcm_{}_{}", "0".repeat(16), "0".repeat(64));
    for shown in ["", &forged] {
        let request = format!("GET /v2/projects\n{shown}");
        let answers: Vec<String> = (0..MANY).map(|_| server.ask(request.trim_end())).collect();
        assert!(answers.iter().any(|answer| status(answer) == "429"), "{answers:?}");
    }
    assert_eq!(status(&server.ask(&format!("GET /v2/projects\n{}", headers.of("platform")))), "200");
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_an_issuer_that_was_good_before_does_not_wait_for_bad_ones() {
    let issuer = Issuer::builder().client("dcm").user("alice", &[]).user("bob", &[]);
    let issuer = issuer.lifetime(Duration::from_secs(3600)).start().await.unwrap();
    let guarded = Guarded::new();
    guarded.configure(&json!({
        "authentication": {"oidc": [{
            "issuer": issuer.url(), "audiences": ["dcm"], "authorities": issuer.authority(),
        }]},
        "roles": [{"role": "metrics-reader", "users": ["somebody"]}],
        "requests": {"perSecond": 1, "burst": 5},
    }));
    let (server, _) = guarded.serve("--listen");
    let ask = |token: &str| {
        let answer = server.ask(&format!("GET /v2/projects\nAuthorization: Bearer {token}"));
        status(&answer).to_owned()
    };
    let known = issuer.id_token("dcm", "alice").await.unwrap();
    let new = issuer.id_token("dcm", "bob").await.unwrap();
    // They prove who they are, and have no role.
    assert_eq!(ask(&known), "403");
    // Signed as another one is.
    let ((signed, _), (_, signature)) = (known.rsplit_once('.').unwrap(), new.rsplit_once('.').unwrap());
    let forged = format!("{signed}.{signature}");
    let answers: Vec<String> = (0..MANY).map(|_| ask(&forged)).collect();
    assert_eq!(answers[0], "401");
    assert!(answers.iter().any(|answer| answer == "429"), "{answers:?}");
    while ask(&forged) != "429" {}
    assert_eq!((ask(&known), ask(&new)), ("403".to_owned(), "429".to_owned()));
    server.stop();
}

#[test]
fn one_caller_follows_only_so_many_events_at_once_and_others_go_on() {
    let guarded = Guarded::new();
    guarded.configure(&json!({"limits": {"followersPerCallerMax": 1}}));
    let (server, headers) = guarded.serve("--listen");
    let platform = headers.of("platform");
    let made =
        server.ask(&format!("POST /v2/projects\n{platform}\n\n{{\"metadata\": {{\"name\": \"shop-1\"}}}}"));
    assert_eq!(status(&made), "201");
    let cloud = "/v2/projects/shop-1/logical-clouds/followed";
    assert_eq!(status(&server.ask(&format!("PUT {cloud}\n{platform}\n\n{{}}"))), "200");
    let events = format!("{cloud}/events");
    let mut followed = server.follow_as(&events, platform);
    assert!(followed.next().unwrap().contains("event: status"));
    let refused = server.ask(&format!("GET {events}\n{platform}"));
    assert!(refused.starts_with("429\n") && refused.contains("\nretry-after: 1\n"), "{refused}");
    assert!(refused.contains("you follow too many events at once"), "{refused}");
    assert!(server.follow_as(&events, headers.of("viewer")).next().unwrap().contains("event: status"));
    server.stop();
}
