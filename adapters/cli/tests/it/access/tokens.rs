//! Static tokens.

use crate::access::callers::Guarded;
use crate::common::User;
use crate::common::installation::until;

#[test]
fn a_token_is_shown_once_and_listed_by_its_name() {
    let person = User::new();
    let new = ["token", "new", "ci", "--user", "robot", "--group", "builders", "--valid-for", "90d"];
    let file = ["--token-file", "tokens.yaml"];
    let token = person.run(new.iter().chain(&file)).done();
    assert!(token.starts_with("dcm_") && token.trim().len() == 85, "{token}");
    let kept = std::fs::read_to_string(person.home().join("tokens.yaml")).unwrap();
    assert!(!kept.contains(token.trim()) && kept.contains("sha256:"), "{kept}");
    let listed = person.run(["token", "list"].iter().chain(&file)).done();
    assert!(listed.contains("ci ") && listed.contains("robot") && listed.contains("builders"), "{listed}");
    let again = person.run(new.iter().chain(&file)).ended_with(1);
    assert_eq!(again, "dcm: there is a token ci in tokens.yaml already\n");
    person.run(["token", "delete", "ci"].iter().chain(&file)).done();
    let absent = person.run(["token", "delete", "ci"].iter().chain(&file)).ended_with(1);
    assert_eq!(absent, "dcm: there is no token ci in tokens.yaml\n");
    let reserved = ["token", "new", "x", "--user", "system:admin", "--token-file", "tokens.yaml"];
    let refused = person.run(reserved).ended_with(3);
    assert!(refused.contains("user: "), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_taken_out_of_the_file_is_refused_soon_without_a_restart() {
    let guarded = Guarded::new();
    let tokens = guarded.person.home().join("tokens.yaml");
    let (server, headers) = guarded.serve("--listen");
    let request = format!("GET /v2/projects\n{}", headers.of("platform"));
    assert!(server.ask(&request).starts_with("200\n"));
    let kept = std::fs::read_to_string(&tokens).unwrap();
    std::fs::write(
        &tokens,
        kept.replace("name: platform", "name: other").replace("user: platform", "user: other"),
    )
    .unwrap();
    // The same token is another's now, who has no role.
    until("another's rights", async || server.ask(&request).starts_with("403\n").then_some(())).await;
    std::fs::write(&tokens, "tokens: []\n").unwrap();
    until("a refusal", async || server.ask(&request).starts_with("401\n").then_some(())).await;
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_too_often_waits_and_others_do_not() {
    let guarded = Guarded::new();
    guarded.configure(&serde_json::json!({"requests": {"perSecond": 1, "burst": 3}}));
    let (server, headers) = guarded.serve("--listen");
    let ask = |caller: &str| server.ask(&format!("GET /v2/projects\n{}", headers.of(caller)));
    let answers: Vec<String> = (0..20).map(|_| ask("viewer")).collect();
    let refused: Vec<&String> = answers.iter().filter(|answer| answer.starts_with("429\n")).collect();
    assert!(refused.len() >= 10, "{answers:?}");
    assert!(refused[0].contains("retry-after: 1\n") && refused[0].contains("/problems/too-many-requests"));
    assert!(ask("admin").starts_with("200\n"));
    server.stop();
}

#[test]
fn the_file_stays_readable_for_whom_it_was() {
    use std::os::unix::fs::PermissionsExt as _;
    let person = User::new();
    let file = ["--token-file", "tokens.yaml"];
    person.run(["token", "new", "a", "--user", "a"].iter().chain(&file)).done();
    let path = person.home().join("tokens.yaml");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    person.run(["token", "new", "b", "--user", "b"].iter().chain(&file)).done();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn of_commands_at_once_none_undoes_what_another_did() {
    let person = User::new();
    let file = ["--token-file", "tokens.yaml"];
    std::thread::scope(|scope| {
        for number in 0..8 {
            let person = &person;
            scope.spawn(move || {
                let name = format!("t{number}");
                person.run(["token", "new", &name, "--user", "a"].iter().chain(&file)).done();
            });
        }
    });
    let listed = person.run(["token", "list", "-o", "json"].iter().chain(&file)).done();
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["tokens"].as_array().unwrap().len(), 8);
}
