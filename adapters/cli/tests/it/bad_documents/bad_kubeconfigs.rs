//! Kubeconfigs that are refused, and how.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// What somebody may find in a kubeconfig, and nowhere else.
const SECRET: &str = "hunter2";

pub(crate) const CLUSTER: &str = "/clusters/0/cluster";
pub(crate) const USER: &str = "/users/0/user";
const CONTEXT: &str = "/contexts/0/context";

/// What is done to a good kubeconfig, and how it is refused.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) text: String,
    /// Field and rule; `FILE` stands for the file.
    pub(crate) said: &'static str,
    /// True when something has to be run or read to be seen.
    pub(crate) is_asked: bool,
}

/// A good kubeconfig with another value at a place of it; none takes away what is there.
pub(crate) fn with(good: &Value, pointer: &str, value: Option<Value>) -> String {
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

/// All of them, made of a good one with a certificate and its key inside.
pub(crate) fn table(good: &Value) -> Vec<Row> {
    let changed = [shapes(good), references(good), clusters(), users(), programs()].into_iter().flatten();
    let row = |(name, place, value, said): Change| {
        let is_asked = said.starts_with("users[].user.exec") || said.starts_with("users[].user.tokenFile");
        Row { name, text: with(good, &place, value), said, is_asked }
    };
    texts().into_iter().chain(changed.map(row)).collect()
}

/// Name, place, value, and how it is refused.
type Change = (&'static str, String, Option<Value>, &'static str);

fn texts() -> Vec<Row> {
    let row = |name, text: &str, said| Row { name, text: text.to_owned(), said, is_asked: false };
    let broken = format!("users: [\n{SECRET}: {{");
    let well_formed = "FILE: line 2, column 10: it must be one well-formed YAML or JSON document";
    let mapping = "FILE: it must be a mapping, with clusters, contexts and users";
    let huge = format!("# {}\n", " ".repeat(8 * 1024 * 1024));
    vec![
        row("an empty file", "", NO_CONTEXT),
        row("no YAML", &broken, well_formed),
        row("a list", &format!("[{SECRET}]"), mapping),
        row("a file of more than 8 MiB", &huge, "FILE: it must be at most 8 MiB"),
    ]
}

const NO_CONTEXT: &str = "FILE: current-context: must name a context; set it or pass --kube-context";

fn shapes(good: &Value) -> Vec<Change> {
    let current = || "/current-context".to_owned();
    let other = || Some(json!("other"));
    let twice = Some(json!([good["contexts"][0], good["contexts"][0]]));
    let no_entry = "FILE: current-context: contexts has no entry \"other\"";
    let many = "FILE: contexts[1].name: must be a name that no other entry of the list has";
    vec![
        ("no current context", current(), None, NO_CONTEXT),
        ("a current context that is not there", current(), other(), no_entry),
        ("two contexts of one name", "/contexts".to_owned(), twice, many),
    ]
}

fn references(good: &Value) -> Vec<Change> {
    let other = || Some(json!("other"));
    let text = Some(json!(SECRET));
    let cluster = "FILE: contexts[].context.cluster: clusters has no entry \"other\"";
    let user = "FILE: contexts[].context.user: users has no entry \"other\"";
    let mut without = good["clusters"][0]["cluster"].clone();
    without.as_object_mut().unwrap().remove("certificate-authority-data");
    without["certificate-authority"] = "missing.crt".into();
    let authority = "FILE: clusters[0].cluster.certificate-authority: missing.crt can't be read: No such file or directory \
                     (os error 2)";
    let certificate = &good["users"][0]["user"]["client-certificate-data"];
    let no_key = json!({"client-certificate-data": certificate, "client-key": "missing.key"});
    let key =
        "FILE: users[0].user.client-key: missing.key can't be read: No such file or directory (os error 2)";
    vec![
        (
            "a context that is a text",
            CONTEXT.to_owned(),
            text,
            "FILE: contexts[0].context: must be a mapping",
        ),
        ("a context whose cluster is not there", format!("{CONTEXT}/cluster"), other(), cluster),
        ("a context whose user is not there", format!("{CONTEXT}/user"), other(), user),
        ("a file of authorities that is not there", CLUSTER.to_owned(), Some(without), authority),
        ("a file of a key that is not there", USER.to_owned(), Some(no_key), key),
    ]
}

fn clusters() -> Vec<Change> {
    let at = |member: &str| format!("{CLUSTER}/{member}");
    let text = |text: &str| Some(json!(text));
    let password = || text(&format!("https://ann:{SECRET}@127.0.0.1:1"));
    let encoded = text(&STANDARD.encode(SECRET));
    let server = "clusters[0].cluster.server: must be an https:// URL without a user name";
    let authorities =
        "clusters[0].cluster.certificate-authority-data: must be base64 of PEM with certificates";
    let no_base64 = "FILE: clusters[0].cluster.certificate-authority-data: must be base64, in one line or broken by line breaks alone";
    let insecure = "FILE: clusters[0].cluster.insecure-skip-tls-verify: must not be true beside authorities";
    let proxy = "clusters[0].cluster.proxy-url: must be an http://, https:// or socks5:// URL without a user name: users get \
                 it, too";
    let data = || at("certificate-authority-data");
    vec![
        ("a cluster without a server", at("server"), None, "clusters[0].cluster.server: must be set"),
        ("a server without TLS", at("server"), text("http://127.0.0.1:1"), server),
        ("a server with a password", at("server"), password(), server),
        ("a server that is no URL", at("server"), text("127.0.0.1"), server),
        ("authorities that are no base64", data(), text(SECRET), no_base64),
        ("authorities that are no certificates", data(), encoded, authorities),
        ("a server that is not to be verified", at("insecure-skip-tls-verify"), Some(json!(true)), insecure),
        ("a proxy with a password", at("proxy-url"), password(), proxy),
    ]
}

fn users() -> Vec<Change> {
    let at = |member: &str| format!("{USER}/{member}");
    let (certificate, key) = (|| at("client-certificate-data"), || at("client-key-data"));
    let encoded = |text: &str| Some(json!(STANDARD.encode(text)));
    let other = encoded(&rcgen::KeyPair::generate().unwrap().serialize_pem());
    let certificates = "users[].user.client-certificate-data: must be base64 of certificates in PEM";
    let no_key = "users[].user.client-key-data: must be base64 of a private key in PEM";
    let mismatch = "users[].user.client-key-data: must be the key of client-certificate-data";
    let alone = "FILE: users[0].user.client-key-data: must be set beside the certificate";
    let no_base64 = |member: &str| match member {
        "key" => {
            "FILE: users[0].user.client-key-data: must be base64, in one line or broken by line breaks alone"
        }
        _ => {
            "FILE: users[0].user.client-certificate-data: must be base64, in one line or broken by line breaks alone"
        }
    };
    vec![
        ("a certificate that is no base64", certificate(), Some(json!(SECRET)), no_base64("certificate")),
        ("a certificate that is no certificate", certificate(), encoded(SECRET), certificates),
        ("a key that is no base64", key(), Some(json!(SECRET)), no_base64("key")),
        ("a key that is no key", key(), encoded(SECRET), no_key),
        ("a certificate and the key of another", key(), other, mismatch),
        ("a certificate without its key", key(), None, alone),
    ]
}

fn programs() -> Vec<Change> {
    let exec = |command: &str, arguments: &[&str]| {
        let api = "client.authentication.k8s.io/v1";
        let exec =
            json!({"apiVersion": api, "command": command, "args": arguments, "interactiveMode": "Never"});
        Some(json!({ "exec": exec }))
    };
    let user = || USER.to_owned();
    let failing = exec("sh", &["-c", "echo hunter2; echo hunter2 >&2; exit 1"]);
    let provider = Some(json!({"auth-provider": {"name": "unknown", "config": {"access-token": SECRET}}}));
    let token_file = Some(json!({"tokenFile": "missing.token"}));
    let nothing = "users[].user.exec: the program gave no credential";
    let neither = "users[].user.exec, users[].user.auth-provider: gave no credential";
    vec![
        ("a file of a token that is not there", user(), token_file, "users[].user.tokenFile: can't be read"),
        (
            "a program that is not there",
            user(),
            exec("./missing", &[]),
            "users[].user.exec: the program can't be run",
        ),
        ("a program that fails", user(), failing, "users[].user.exec: the program failed"),
        ("a program that says something else", user(), exec("echo", &[SECRET]), nothing),
        ("a provider of credentials that nobody knows", user(), provider, neither),
    ]
}

/// The names of all rows.
pub(crate) fn names() -> Vec<&'static str> {
    // Of what it is made does not matter to the names.
    let entry = json!([{"name": "testenv", "cluster": {"server": "", "certificate-authority-data": ""}, "context": {},
                        "user": {"client-certificate-data": "", "client-key-data": ""}}]);
    let like = json!({"clusters": entry, "users": entry, "contexts": entry, "current-context": ""});
    table(&like).into_iter().map(|row| row.name).collect()
}
