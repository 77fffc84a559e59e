//! Kubeconfigs that are refused, by `dcm cluster add` and by a server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::secret::Secret;
use dcm_core::service::{Caller, Registration};
use dcm_kube::kubeconfig::{Allowed, Commands};
use dcm_server::{Configuration, Deployment};
use serde_json::{Value, json};

use crate::bad_documents::bad_kubeconfigs::{CLUSTER, Row, USER, table, with};
use crate::bad_documents::bombs;
use crate::bad_documents::standing::Standing;
use crate::common::User;
use crate::common::server::Server;

#[tokio::test(flavor = "multi_thread")]
async fn every_bad_kubeconfig_is_refused_by_its_field_and_changes_nothing() {
    let standing = Standing::new("kubeconfigs").await;
    let good: Value = serde_saphyr::from_str(&standing.kubeconfig()).unwrap();
    let before = standing.before();
    for Row { name, text, said, is_asked } in table(&good) {
        let file = standing.user.write("bad.kubeconfig", &text);
        for unchecked in [false, true] {
            let mut arguments = vec!["cluster", "add", "real/bad", "--kubeconfig", file.to_str().unwrap()];
            // What only shows when the credential is asked for is not seen without a look.
            if unchecked && is_asked {
                continue;
            }
            arguments.extend(unchecked.then_some("--unchecked"));
            let ran = standing.user.run(&arguments);
            let shown = match said.strip_prefix("FILE") {
                Some(rest) => format!("kubeconfig {}{rest}", file.display()),
                None => format!("kubeconfig: {said}"),
            };
            let start = if is_asked { "dcm: real/bad was not registered: " } else { "dcm: " };
            assert_eq!((ran.code, &*ran.out, ran.err), (3, "", format!("{start}{shown}\n")), "{name}");
            standing.assert_unchanged(&before, name);
        }
    }
}

/// Each bomb behind the lines of a kubeconfig of the first cluster.
fn all_bombs(standing: &Standing) -> Vec<bombs::Bomb> {
    let good: Value = serde_saphyr::from_str(&standing.kubeconfig()).unwrap();
    let head = serde_saphyr::to_string(&good).unwrap();
    [bombs::small(&head), bombs::large(&head)].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_costs_more_than_its_size_is_refused_by_its_limit_and_changes_nothing() {
    let standing = Standing::new("bombs").await;
    let before = standing.before();
    for (name, text, limit) in all_bombs(&standing) {
        let file = standing.user.write("bomb.kubeconfig", &text);
        let file = file.to_str().unwrap();
        for arguments in [
            &["cluster", "add", "real/bad", "--kubeconfig", file][..],
            &["cluster", "add", "real/bad", "--unchecked", "--kubeconfig", file],
            &["cluster", "update", "real/cluster-1", "--kubeconfig", file],
        ] {
            let ran = standing.user.run(arguments);
            assert_eq!((ran.code, &*ran.out), (3, ""), "{name}: {}", ran.err);
            let is_named = ran.err.starts_with(&format!("dcm: kubeconfig {file}: line "))
                && ran.err.ends_with(&format!(": it {limit}\n"));
            assert!(is_named, "{name}: {}", ran.err);
            standing.assert_unchanged(&before, name);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_refuses_what_costs_more_than_its_size_in_both_dialects_and_changes_nothing() {
    let standing = Standing::new("rest-bombs").await;
    let both = ["--listen", "127.0.0.1:0", "--emco-listen", "127.0.0.1:0"];
    let (server, _log) = Server::serving(User::new(), &both);
    let made = server.ask("POST /v2/cluster-providers\n\n{\"metadata\": {\"name\": \"real\"}}");
    assert!(made.starts_with("201"), "{made}");
    let clusters = "/v2/cluster-providers/real/clusters";
    let good = json!({"metadata": {"name": "good"}, "spec": {"kubeconfig": standing.kubeconfig()}});
    let made = server.ask(&format!("POST {clusters}\n\n{good}"));
    assert!(made.starts_with("201"), "{made}");
    let listed = server.ask(&format!("GET {clusters}"));
    let before = standing.before();
    for (name, text, limit) in all_bombs(&standing) {
        let body = json!({"metadata": {"name": "bad"}, "spec": {"kubeconfig": text}});
        let update = json!({"metadata": {"name": "good"}, "spec": {"kubeconfig": text}});
        let form = format!(
            "--part\nContent-Disposition: form-data; name=\"metadata\"\n\n{}\n\
             --part\nContent-Disposition: form-data; name=\"file\"; filename=\"filename\"\n\n{}\n--part--\n",
            json!({"metadata": {"name": "bad"}}),
            text.trim_end()
        );
        let emco = format!("POST {clusters}\nContent-Type: multipart/form-data; boundary=part\n\n{form}");
        let answers = [
            server.ask(&format!("POST {clusters}\n\n{body}")),
            server.ask(&format!("POST {clusters}?unchecked=true\n\n{body}")),
            server.ask(&format!("PUT {clusters}/good\n\n{update}")),
            server.ask(&format!("POST {clusters}/good/check\n\n{}", json!({"kubeconfig": text}))),
            server.listeners()[1].ask(&emco),
        ];
        for (number, answer) in answers.iter().enumerate() {
            assert!(answer.starts_with('4') && answer.contains(limit), "{name}, request {number}: {answer}");
        }
        assert_eq!(server.ask(&format!("GET {clusters}")), listed, "{name}");
        standing.assert_unchanged(&before, name);
    }
    server.stop();
}

#[test]
fn files_of_settings_and_contexts_that_cost_more_than_their_size_are_refused_by_the_limit() {
    let person = User::new();
    let names: String = (0..4000).map(|name| format!("n{name},")).collect();
    let role = |groups: &str| format!("- {{role: platform-admin, groups: {groups}}}\n");
    let roles = role(&format!("&a [{names}]")) + &role("*a").repeat(4);
    person.write("settings.yaml", &format!("store: 'memory:'\nroles:\n{roles}"));
    let aliases = "it must have aliases (*…) for at most 10000 nodes in all";
    let said = person.run(["serve", "--config", "settings.yaml"]).ended_with(1);
    assert!(said.contains("settings.yaml is no file of settings: line ") && said.contains(aliases), "{said}");
    for (text, limit) in [
        ("store: 'memory:'\nstore: 'memory:'\n", "it has a key twice"),
        ("roles: [&a {role: platform-admin}, {<<: *a}]\n", "it must not have merge keys"),
    ] {
        person.write("settings.yaml", text);
        let said = person.run(["serve", "--config", "settings.yaml"]).ended_with(1);
        assert!(said.contains(limit), "{said}");
    }
    let person = User::with([("DCM_CONTEXTS_FILE", "contexts.yaml".to_owned())]);
    person.write("contexts.yaml", "currentContext: a\ncurrentContext: b\n");
    let said = person.run(["context", "list"]).ended_with(1);
    assert!(said.contains("contexts.yaml is not understood: line 2, column 1: it has a key twice"), "{said}");
}

/// Good in themselves, and of no use: how each fails, by the field that it comes from.
fn of_no_use(standing: &Standing) -> [(String, String); 3] {
    let [first, second] = standing.environment.clusters() else { panic!("two clusters are needed") };
    let mine = standing.kubeconfig();
    let server = |url: &str, why: &str| {
        format!(
            "dcm: real/bad was not registered: clusters[].cluster.server {url}: real/bad can't be asked: the cluster can't be reached: {why}"
        )
    };
    let [own, other] = [first, second].map(|cluster| STANDARD.encode(cluster.certificate_authority()));
    let stranger = second.issue("stranger", &[]).unwrap();
    [
        (
            mine.replace(&first.url(), "https://127.0.0.1:1"),
            server("https://127.0.0.1:1", "tcp connect error: Connection refused (os error 111)"),
        ),
        (
            mine.replace(&own, &other),
            server(&first.url(), "invalid peer certificate: UnknownIssuer"),
        ),
        (
            first.kubeconfig(&stranger, dcm_testenv::Route::Direct),
            "dcm: real/bad was not registered: users[].user: real/bad can't be asked: our credential is not accepted: \
             Unauthorized"
                .to_owned(),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kubeconfig_that_leads_nowhere_fails_by_its_field_and_changes_nothing() {
    let standing = Standing::new("nowhere").await;
    let before = standing.before();
    for (text, said) in of_no_use(&standing) {
        let file = standing.user.write("bad.kubeconfig", &text);
        let ran = standing.user.run(["cluster", "add", "real/bad", "--kubeconfig", file.to_str().unwrap()]);
        assert_eq!((ran.code, &*ran.out, ran.err), (1, "", format!("{said}\n")));
        standing.assert_unchanged(&before, &said);
    }
}

/// A kubeconfig whose credential a program says: the good one's.
fn with_program(good: &Value) -> Value {
    let user = &good["users"][0]["user"];
    let decoded =
        |member: &str| String::from_utf8(STANDARD.decode(user[member].as_str().unwrap()).unwrap()).unwrap();
    let credential = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": {
            "clientCertificateData": decoded("client-certificate-data"), "clientKeyData": decoded("client-key-data"),
        },
    });
    let exec = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "command": "echo", "args": [credential.to_string()],
        "interactiveMode": "Never",
    });
    serde_json::from_str(&with(good, USER, Some(json!({"exec": exec})))).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_is_run_for_the_user_of_the_command() {
    let standing = Standing::new("programs").await;
    let good: Value = serde_saphyr::from_str(&standing.kubeconfig()).unwrap();
    let file = standing.user.write("exec.kubeconfig", &with_program(&good).to_string());
    let before = standing.before();
    let update = ["cluster", "update", "real/cluster-1", "--kubeconfig", file.to_str().unwrap()];
    let out = standing.user.run(update).done();
    assert!(out.starts_with("real/cluster-1: ready\n"), "{out}");
    // Here it is seen that requests and writes are seen.
    assert!(!standing.requests_since(&before).is_empty() && standing.before() != before);
    standing.user.run(["cluster", "check", "real/cluster-1"]).done();
}

/// What a server refuses until somebody allows it by name: a program to run, a file to read, a way past the proof of who
/// answers.
fn of_others(good: &Value) -> Vec<(String, &'static str, Allowed)> {
    let none = Allowed::default;
    let program = Commands::Named(["echo".to_owned()].into());
    let files = Allowed { files: true, ..none() };
    let at = |pointer: &str, value: Value| with(good, pointer, Some(value));
    let provider = json!({"auth-provider": {"name": "gcp", "config": {"cmd-path": "/bin/sh"}}});
    vec![
        (
            with_program(good).to_string(),
            "users[].user.exec: runs a program that is not allowed",
            Allowed { exec_commands: program, ..none() },
        ),
        (
            at(USER, provider),
            "users[].user.auth-provider: may run a program, which is not allowed",
            Allowed { exec_commands: Commands::Any, ..none() },
        ),
        (
            at(USER, json!({"tokenFile": "/etc/hostname"})),
            "users[].user.tokenFile: names a file, which is not allowed",
            files.clone(),
        ),
        (
            at(USER, json!({"client-certificate": "/etc/hostname", "client-key": "/etc/hostname"})),
            "users[].user.client-certificate: names a file, which is not allowed",
            files.clone(),
        ),
        (
            at(USER, json!({"client-key": "/etc/hostname"})),
            "users[].user.client-key: names a file, which is not allowed",
            files,
        ),
        (
            at(&format!("{CLUSTER}/proxy-url"), json!("http://127.0.0.1:1")),
            "clusters[].cluster.proxy-url: is not allowed",
            Allowed { proxy: true, ..none() },
        ),
    ]
}

/// A deployment as a server opens it, but for its store, and how it takes the registration of a cluster.
async fn registered(text: &str, allowed: Allowed) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let configuration =
        Configuration { kubeconfigs: allowed, ..Configuration::new("memory:", folder.path().join("keys")) };
    let deployment = Deployment::open(&configuration).await.unwrap();
    let registration = Registration::new("p/c".parse().unwrap(), Secret::new(text));
    let outcome = deployment.registered().add(&Caller::new("test"), registration).await;
    let there = deployment.registered().list(None, None).await.unwrap().clusters.len();
    assert_eq!(there, usize::from(outcome.is_ok()));
    outcome.map(drop).map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_refuses_programs_and_files_by_their_field_unless_they_are_allowed_by_name() {
    let standing = Standing::new("server").await;
    let good: Value = serde_saphyr::from_str(&standing.kubeconfig()).unwrap();
    for (text, said, allowed) in of_others(&good) {
        let refused = registered(&text, Allowed::default()).await.unwrap_err();
        assert_eq!(refused, format!("kubeconfig: {said}"));
        assert_eq!(registered(&text, allowed).await, Ok(()), "{said}");
    }
    let another = Allowed { exec_commands: Commands::Named(["sh".to_owned()].into()), ..Allowed::default() };
    let refused = registered(&with_program(&good).to_string(), another).await.unwrap_err();
    assert_eq!(refused, "kubeconfig: users[].user.exec: runs a program that is not allowed");
}
