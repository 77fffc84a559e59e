//! Kubeconfigs that are refused, by `dcm cluster add` and by a server.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::secret::Secret;
use dcm_core::service::{Caller, Registration};
use dcm_kube::kubeconfig::{Allowed, Commands};
use dcm_server::{Configuration, Deployment};
use serde_json::{Value, json};

use crate::standing::Standing;

/// The rows' names, for the list of kinds.
pub(crate) const NAMES: [&str; 29] = [
    "an empty file",
    "no YAML",
    "a list",
    "a file of more than 8 MiB",
    "no current context",
    "a current context that is not there",
    "two contexts of one name",
    "a context that is a text",
    "a context whose cluster is not there",
    "a context whose user is not there",
    "a cluster without a server",
    "a server without TLS",
    "a server with a password",
    "a server that is no URL",
    "authorities that are no base64",
    "authorities that are no certificates",
    "a file of authorities that is not there",
    "a server that is not to be verified",
    "a proxy with a password",
    "a certificate that is no base64",
    "a key that is no key",
    "a certificate and the key of another",
    "a certificate without its key",
    "a file of a key that is not there",
    "a file of a token that is not there",
    "a program that is not there",
    "a program that fails",
    "a program that says something else",
    "a provider of credentials that nobody knows",
];

/// Rows of which something has to be run or read to be seen.
const ASKED: [&str; 5] = [NAMES[24], NAMES[25], NAMES[26], NAMES[27], NAMES[28]];

/// What somebody may find in a kubeconfig, and nowhere else.
const SECRET: &str = "hunter2";

const SERVER: &str = "clusters[0].cluster.server: must be an https:// URL without a user name";

const AUTHORITIES: &str = "clusters[0].cluster.certificate-authority-data: must be base64 of PEM with certificates and nothing else";

/// What is done to a good kubeconfig, and how it is refused. `FILE` stands for the file.
struct Row {
    name: &'static str,
    text: String,
    said: &'static str,
}

/// A good kubeconfig with another value at a place of it; none takes away what is there.
fn with(good: &Value, pointer: &str, value: Option<Value>) -> String {
    let (parent, member) = pointer.rsplit_once('/').unwrap();
    let mut file = good.clone();
    let parent = file.pointer_mut(parent).unwrap();
    match (parent, value) {
        (Value::Object(members), Some(value)) => drop(members.insert(member.to_owned(), value)),
        (Value::Object(members), None) => drop(members.remove(member).unwrap()),
        (parent, _) => panic!("{parent} has no members"),
    }
    file.to_string()
}

const CLUSTER: &str = "/clusters/0/cluster";
const USER: &str = "/users/0/user";
const CONTEXT: &str = "/contexts/0";

fn shapes(good: &Value) -> Vec<Row> {
    let row = |name, text: &str, said| Row { name, text: text.to_owned(), said };
    let context = json!([good["contexts"][0], good["contexts"][0]]);
    vec![
        row(NAMES[0], "", "FILE: current-context: must name a context, or say --context"),
        row(
            NAMES[1],
            &format!("users: [\n{SECRET}: {{"),
            "FILE: line 2, column 10: it must be one well-formed YAML or JSON document",
        ),
        row(
            NAMES[2],
            &format!("[{SECRET}]"),
            "FILE: it must be a mapping, with clusters, contexts and users",
        ),
        row(NAMES[3], &format!("# {}\n", " ".repeat(8 * 1024 * 1024)), "FILE: it must be at most 8 MiB"),
        row(
            NAMES[4],
            &with(good, "/current-context", None),
            "FILE: current-context: must name a context, or say --context",
        ),
        row(
            NAMES[5],
            &with(good, "/current-context", Some(json!("other"))),
            "FILE: current-context: contexts has no entry \"other\"",
        ),
        row(
            NAMES[6],
            &with(good, "/contexts", Some(context)),
            "FILE: current-context: contexts has more than one entry \"testenv\"",
        ),
        row(
            NAMES[7],
            &with(good, &format!("{CONTEXT}/context"), Some(json!(SECRET))),
            "FILE: contexts[].context: must be a mapping",
        ),
        row(
            NAMES[8],
            &with(good, &format!("{CONTEXT}/context/cluster"), Some(json!("other"))),
            "FILE: contexts[].context.cluster: clusters has no entry \"other\"",
        ),
        row(
            NAMES[9],
            &with(good, &format!("{CONTEXT}/context/user"), Some(json!("other"))),
            "FILE: contexts[].context.user: users has no entry \"other\"",
        ),
    ]
}

fn clusters(good: &Value) -> Vec<Row> {
    let row = |name, member: &str, value: Option<Value>, said| Row {
        name,
        text: with(good, &format!("{CLUSTER}/{member}"), value),
        said,
    };
    let password = Some(json!(format!("https://ann:{SECRET}@127.0.0.1:1")));
    let authorities = "certificate-authority-data";
    let mut rows = vec![
        row(NAMES[10], "server", None, "clusters[0].cluster.server: must be set"),
        row(NAMES[11], "server", Some(json!("http://127.0.0.1:1")), SERVER),
        row(NAMES[12], "server", password.clone(), SERVER),
        row(NAMES[13], "server", Some(json!("127.0.0.1")), SERVER),
        row(NAMES[14], authorities, Some(json!(SECRET)), AUTHORITIES),
        row(NAMES[15], authorities, Some(json!(STANDARD.encode(SECRET))), AUTHORITIES),
        row(
            NAMES[17],
            "insecure-skip-tls-verify",
            Some(json!(true)),
            "clusters[0].cluster.insecure-skip-tls-verify: must not be set: give the server's authority instead",
        ),
        row(
            NAMES[18],
            "proxy-url",
            password,
            "clusters[0].cluster.proxy-url: must be an http://, https:// or socks5:// URL without a user name: users get it, too",
        ),
    ];
    let mut without = good.clone();
    without["clusters"][0]["cluster"]["certificate-authority"] = "missing.crt".into();
    let text = with(&without, &format!("{CLUSTER}/{authorities}"), None);
    rows.push(Row { name: NAMES[16], text, said: "FILE: clusters[].cluster.certificate-authority: missing.crt can't be read: No such file or directory (os error 2)" });
    rows
}

fn users(good: &Value) -> Vec<Row> {
    let (certificate, key) = ("client-certificate-data", "client-key-data");
    let row = |name, member: &str, value: Option<Value>, said| Row {
        name,
        text: with(good, &format!("{USER}/{member}"), value),
        said,
    };
    let whole = |name, user: Value, said| Row { name, text: with(good, USER, Some(user)), said };
    let other = STANDARD.encode(rcgen::KeyPair::generate().unwrap().serialize_pem());
    let no_key = json!({"client-certificate-data": good["users"][0]["user"][certificate], "client-key": "missing.key"});
    let exec = |command: &str, arguments: &[&str]| {
        let api = "client.authentication.k8s.io/v1";
        json!({"exec": {"apiVersion": api, "command": command, "args": arguments, "interactiveMode": "Never"}})
    };
    vec![
        row(
            NAMES[19],
            certificate,
            Some(json!(SECRET)),
            "users[].user.client-certificate-data: must be base64 of certificates in PEM",
        ),
        row(
            NAMES[20],
            key,
            Some(json!(STANDARD.encode(SECRET))),
            "users[].user.client-key-data: must be base64 of a private key in PEM",
        ),
        row(
            NAMES[21],
            key,
            Some(json!(other)),
            "users[].user.client-key-data: must be the key of client-certificate-data",
        ),
        row(NAMES[22], key, None, "users[].user.client-key-data: must be set beside the certificate"),
        whole(
            NAMES[23],
            no_key,
            "FILE: users[].user.client-key: missing.key can't be read: No such file or directory (os error 2)",
        ),
        whole(NAMES[24], json!({"tokenFile": "missing.token"}), "users[].user.tokenFile: can't be read"),
        whole(NAMES[25], exec("./missing", &[]), "users[].user.exec: the program can't be run"),
        whole(
            NAMES[26],
            exec("sh", &["-c", "echo hunter2; echo hunter2 >&2; exit 1"]),
            "users[].user.exec: the program failed",
        ),
        whole(NAMES[27], exec("echo", &[SECRET]), "users[].user.exec: the program gave no credential"),
        whole(
            NAMES[28],
            json!({"auth-provider": {"name": "unknown", "config": {"access-token": SECRET}}}),
            "users[].user.exec, users[].user.auth-provider: gave no credential",
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_bad_kubeconfig_is_refused_by_its_field_and_changes_nothing() {
    let standing = Standing::new("kubeconfigs").await;
    let good: Value = serde_saphyr::from_str(&standing.kubeconfig()).unwrap();
    let rows: Vec<Row> = [shapes(&good), clusters(&good), users(&good)].into_iter().flatten().collect();
    let mut names: Vec<&str> = rows.iter().map(|row| row.name).collect();
    names.sort_by_key(|name| NAMES.iter().position(|known| known == name));
    assert_eq!(names, NAMES);
    let before = standing.before();
    for Row { name, text, said } in rows {
        let file = standing.user.write("bad.kubeconfig", &text);
        for unchecked in [false, true] {
            let mut arguments = vec!["cluster", "add", "real/bad", "--kubeconfig", file.to_str().unwrap()];
            // What only shows when the credential is asked for is not seen without a look.
            if unchecked && ASKED.contains(&name) {
                continue;
            }
            arguments.extend(unchecked.then_some("--unchecked"));
            let ran = standing.run(&arguments);
            let shown = match said.strip_prefix("FILE") {
                Some(rest) => format!("kubeconfig {}{rest}", file.display()),
                None => format!("kubeconfig: {said}"),
            };
            let start = if ASKED.contains(&name) { "dcm: real/bad was not registered: " } else { "dcm: " };
            assert_eq!((ran.code, &*ran.out, ran.err), (3, "", format!("{start}{shown}\n")), "{name}");
            standing.assert_unchanged(&before, name);
        }
    }
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
    let stranger = second.issue("stranger", &["system:masters"]).unwrap();
    [
        (
            mine.replace(&first.url(), "https://127.0.0.1:1"),
            server("https://127.0.0.1:1", "client error (Connect): tcp connect error: Connection refused (os error 111)"),
        ),
        (
            mine.replace(&own, &other),
            server(&first.url(), "client error (Connect): invalid peer certificate: UnknownIssuer"),
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
        let ran = standing.run(&["cluster", "add", "real/bad", "--kubeconfig", file.to_str().unwrap()]);
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
    let out = standing.run(&["cluster", "add", "real/exec", "--kubeconfig", file.to_str().unwrap()]).done();
    assert!(out.starts_with("real/exec: ready\n"), "{out}");
    // Here it is seen that requests and writes are seen.
    assert!(!standing.requests_since(&before).is_empty() && standing.before() != before);
    standing.run(&["cluster", "check", "real/exec"]).done();
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
            at(USER, json!({"client-certificate": "/etc/hostname"})),
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
    let kubeconfig = Secret::new(text);
    let (id, labels) = ("p/c".parse().unwrap(), BTreeMap::new());
    let registration = Registration { id, kubeconfig, labels, namespace: None };
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
