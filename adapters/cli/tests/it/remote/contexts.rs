//! Servers that were logged in to, and which of them is asked.

use std::os::unix::fs::PermissionsExt as _;

use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};

use crate::common::server::Server;
use crate::common::{Ran, User, fed};

const SETTINGS: &str = "settings.yaml";

/// A server over TLS that knows two people, one by a token and one by a certificate; and the token.
fn guarded() -> (Server, String) {
    let person = User::new();
    let token = person.run(["token", "new", "ann", "--user", "ann", "--token-file", "tokens.yaml"]).done();
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name.push(DnType::CommonName, "authority");
    let key = KeyPair::generate().unwrap();
    person.write("authority.pem", &authority.self_signed(&key).unwrap().pem());
    let issuer = Issuer::new(authority, key);
    let issue = |file: &str, mut params: CertificateParams, usage| {
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().unwrap();
        person.write(&format!("{file}.pem"), &params.signed_by(&key, &issuer).unwrap().pem());
        let key = person.write(&format!("{file}.key"), &key.serialize_pem());
        std::fs::set_permissions(key, std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    let server = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    issue("server", server, ExtendedKeyUsagePurpose::ServerAuth);
    let mut bob = CertificateParams::default();
    bob.distinguished_name.push(DnType::CommonName, "bob");
    issue("bob", bob, ExtendedKeyUsagePurpose::ClientAuth);
    let settings = json!({
        "store": "memory:",
        "tls": {"certificate": "server.pem", "key": "server.key"},
        "authentication": {
            "tokens": {"file": "tokens.yaml"}, "clientCertificates": {"authorities": "authority.pem"},
        },
        "roles": [
            {"role": "platform-admin", "users": ["ann"]},
            {"role": "project-viewer", "users": ["bob"], "projects": ["shop"]},
        ],
    });
    person.write(SETTINGS, &settings.to_string());
    let (server, _) = Server::serving(person, &["--config", SETTINGS, "--listen", "127.0.0.1:0"]);
    (server, token.trim().to_owned())
}

fn contexts(person: &User) -> Value {
    serde_json::from_str(&person.run(["context", "list", "-o", "json"]).done()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_lets_in_who_has_logged_in_and_its_context_is_the_one_that_is_asked() {
    let (server, token) = guarded();
    let (person, url) = (User::new(), format!("https://{}", server.address()));
    let authority = server.home().join("authority.pem");
    let authority = authority.to_str().unwrap();
    let login = ["login", &url, "--certificate-authority", authority];

    // Nobody is remembered who is not let in.
    let refused = person.run(["login", &url]).ended_with(1);
    assert!(refused.contains("is not remembered"), "{refused}");
    let refused = person.run(login).ended_with(5);
    assert!(refused.contains("is not remembered"), "{refused}");
    let with_token = |token: &str| fed(person.command().args(login).args(["--bearer-token", "-"]), token);
    let refused = with_token("dcm_wrong").ended_with(5);
    assert!(!refused.contains("dcm_wrong"), "{refused}");
    assert_eq!(contexts(&person), json!([]));

    // A token is kept for its owner alone, and shown nowhere.
    with_token(&format!("{token}\n")).done();
    let name = server.address().to_string();
    let shown = json!({"name": name, "server": url, "credential": "token", "isCurrent": true});
    assert_eq!(contexts(&person), json!([shown]));
    let file = person.home().join(".config/dcm/contexts.yaml");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(std::fs::read_to_string(&file).unwrap().contains(&token));
    let listed = person.run(["-vvv", "context", "list"]);
    assert!(!format!("{listed:?}").contains(&token), "{listed:?}");

    // A certificate is another context, and the current one from then on: another person, with another role.
    let certificate = ["--client-certificate", "bob.pem", "--client-key", "bob.key", "--name", "bob"];
    let mut command = person.command();
    command.current_dir(server.home());
    Ran::of(command.args(login).args(certificate).output().unwrap()).done();
    let forbidden = person.run(["apply", "-f", "-"]);
    assert_eq!(forbidden.code, 3, "an empty text is no document: {forbidden:?}");
    let document = json!({
        "apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "metadata": {"name": "stall", "project": "bank"},
        "spec": {"users": [{"name": "ann"}]},
    });
    let apply = |more: &[&str]| {
        person.run_with_input(&[&["apply", "--no-wait", "-f", "-"], more].concat(), &document.to_string())
    };
    let refused = apply(&[]).ended_with(6);
    assert!(refused.contains("there is no project bank"), "{refused}");
    // One by its name, by its server, and by what the environment says.
    let refused = apply(&["--context", &name]).ended_with(5);
    assert!(refused.contains("it has no cluster reference"), "{refused}");
    let projects = |arguments: &[&str]| person.run([&["get"], arguments].concat());
    projects(&["--context", &name]).done();
    projects(&["--server", &url]).done();
    let mut command = person.command();
    command.env("DCM_CONTEXT", &name).arg("get");
    Ran::of(command.output().unwrap()).done();
    // A store that is named is worked on all the same.
    person.run(["get", "--store", "memory:"]).done();

    // Back, and away.
    person.run(["context", "use", &name]).done();
    assert_eq!(contexts(&person)[0]["isCurrent"], true);
    person.run(["context", "use", "absent"]).ended_with(6);
    person.run(["context", "delete", "absent"]).ended_with(6);
    person.run(["context", "delete", &name]).done();
    assert!(!std::fs::read_to_string(&file).unwrap().contains(&token));
    person.run(["context", "leave"]).done();
    assert_eq!(
        contexts(&person).as_array().unwrap().iter().filter(|one| one["isCurrent"] == true).count(),
        0
    );
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_in_a_file_or_in_the_environment_is_read_each_time() {
    let (server, token) = guarded();
    let (person, url) = (User::new(), format!("https://{}", server.address()));
    let authority = server.home().join("authority.pem");
    let file = person.write("token", &format!("{token}\n"));
    let login = ["login", &url, "--name", "it", "--bearer-token", "token", "--certificate-authority"];
    person.run(login.iter().copied().chain([authority.to_str().unwrap()])).done();
    assert!(
        !std::fs::read_to_string(person.home().join(".config/dcm/contexts.yaml")).unwrap().contains(&token)
    );
    person.run(["get"]).done();
    std::fs::write(&file, "dcm_other\n").unwrap();
    let refused = person.run(["get"]).ended_with(5);
    assert!(!refused.contains("dcm_other"), "{refused}");
    // What the environment says goes before, with the authorities of the context.
    let mut command = person.command();
    command.env("DCM_TOKEN", &token).args(["get", "--server", &url]);
    Ran::of(command.output().unwrap()).done();
    server.stop();
}

#[test]
fn what_only_a_store_can_do_is_refused_where_a_server_is_named() {
    let person = User::new();
    for arguments in [&["store", "check"][..], &["serve", "--listen", "127.0.0.1:0"]] {
        let refused = person.run([arguments, &["--server", "http://127.0.0.1:9"]].concat()).ended_with(3);
        assert!(refused.contains("--server"), "{refused}");
    }
    assert!(!person.home().join(".local").exists());
}

#[test]
fn a_plugin_of_a_store_asks_no_server_whatever_its_environment_says() {
    let person = User::new();
    let server = "http://127.0.0.1:9";
    person.write("contexts.yaml", &format!("currentContext: it\ncontexts: {{it: {{server: '{server}'}}}}"));
    let plugin = ["credential", "cloud", "ann", "first", "--store-in-environment"];
    for (name, value) in
        [("DCM_SERVER", server), ("DCM_CONTEXT", "it"), ("DCM_CONTEXTS_FILE", "contexts.yaml")]
    {
        let run = |store: Option<&str>| {
            let mut command = person.command();
            command.env(name, value).args(plugin);
            command.envs(store.map(|store| ("DCM_STORE", store)));
            Ran::of(command.output().unwrap())
        };
        let refused = run(None).ended_with(5);
        assert!(refused.contains("DCM_STORE"), "{name}: {refused}");
        let refused = run(Some("memory:")).ended_with(6);
        assert!(refused.contains("there is no logical cloud cloud"), "{name}: {refused}");
    }
}

#[test]
fn a_server_that_does_not_answer_is_named_and_plain_http_is_for_this_machine() {
    let person = User::new();
    let away = person.run(["get", "--server", "http://127.0.0.1:9"]).ended_with(1);
    assert!(away.contains("no answer from http://127.0.0.1:9"), "{away}");
    let refused = person.run(["get", "--server", "http://dcm.example.com"]).ended_with(2);
    assert!(refused.contains("must begin with https://"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_contexts_that_is_not_understood_is_told_without_what_is_in_it() {
    let person = User::new();
    let folder = person.home().join(".config/dcm");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("contexts.yaml"), "contexts: {a: {server: 'https://x', token: [dcm_secret]}}")
        .unwrap();
    let refused = person.run(["get"]).ended_with(1);
    assert!(
        refused.contains("contexts.yaml is not understood") && !refused.contains("dcm_secret"),
        "{refused}"
    );
}
