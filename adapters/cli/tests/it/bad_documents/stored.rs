//! Documents that are well-formed, and refused for what is registered and stored already.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::{Value, json};

use crate::bad_documents::standing::Standing;

/// The cloud that is on clusters.
const CLOUD: &str = "stored";

/// What is given, and what is said of it.
struct Row {
    name: &'static str,
    files: Vec<Vec<Value>>,
    refusal: String,
}

fn document(name: &str, spec: &Value) -> Value {
    let metadata = json!({"name": name, "project": "default"});
    json!({"apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "metadata": metadata, "spec": spec})
}

/// One that would be stored, in a project that would be made.
fn good() -> Value {
    let mut good = document("good", &json!({"clusters": [{"provider": "real", "cluster": "cluster-1"}]}));
    good["metadata"]["project"] = "fresh".into();
    good
}

fn row(name: &'static str, documents: Vec<Value>, refusal: impl Into<String>) -> Row {
    Row { name, files: vec![documents], refusal: format!("bad-0.json: {}", refusal.into()) }
}

fn clusters() -> Vec<Row> {
    // The second comes first in the order of names.
    let unknown = json!({"clusters": [{"provider": "real", "cluster": "nowhere"}, {"provider": "real", "cluster": "cluster-1"}]});
    let admin = json!({"level": "admin", "clusters": [{"provider": "real", "cluster": "cluster-2"}, {"provider": "real", "cluster": "cluster-1"}]});
    let refusal = r#"logical cloud bad: spec.clusters[0].cluster: is not registered: add the cluster first (found "real/nowhere")"#;
    vec![
        row("a cluster that is not registered", vec![document("bad", &unknown)], refusal),
        row(
            "a cluster that is not registered, in the second document",
            vec![good(), document("bad", &unknown)],
            refusal,
        ),
        row(
            "clusters of an admin cloud with different namespaces",
            vec![good(), document("bad", &admin)],
            "logical cloud bad: spec.clusters[0].cluster: is registered with namespace others, and real/cluster-1 with \
             tenants: an admin cloud has one (found \"real/cluster-2\")",
        ),
    ]
}

fn life() -> Vec<Row> {
    let clusters = json!([{"provider": "real", "cluster": "cluster-1"}]);
    let elsewhere = json!({"namespace": "elsewhere", "clusters": clusters});
    let admin = json!({"level": "admin", "clusters": clusters});
    let namespace = "logical cloud stored: spec.namespace: stays stored while the cloud is on clusters: it holds what the \
                     users made; terminate first (found \"elsewhere\")";
    let level = "logical cloud stored: spec.level: can't become or leave admin while the cloud is on clusters; terminate \
                 first (found \"admin\")";
    let twice = "bad-1.json: logical cloud good is in bad-0.json, too";
    vec![
        row(
            "another namespace for a cloud that is on clusters",
            vec![good(), document(CLOUD, &elsewhere)],
            namespace,
        ),
        row("another level for a cloud that is on clusters", vec![good(), document(CLOUD, &admin)], level),
        Row {
            name: "one cloud in two files",
            files: vec![vec![good()], vec![good()]],
            refusal: twice.into(),
        },
    ]
}

/// The request of a new key with this subject.
fn request(organization: &str, common_name: &str, change: impl Fn(&mut CertificateParams)) -> Vec<u8> {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = DistinguishedName::new();
    parameters.distinguished_name.push(DnType::OrganizationName, organization);
    parameters.distinguished_name.push(DnType::CommonName, common_name);
    change(&mut parameters);
    parameters.serialize_request(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
}

fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    let label = "CERTIFICATE REQUEST";
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// A cloud with the request of its second user.
fn with(cloud: &str, der: &[u8]) -> Value {
    let users = json!([{"name": "ann"}, {"name": "bob", "csr": pem(der)}]);
    document(cloud, &json!({"users": users, "clusters": [{"provider": "real", "cluster": "cluster-1"}]}))
}

fn requests(organization: &str, common_name: &str) -> Vec<Row> {
    let early = "logical cloud early: spec.users[1].csr: its subject holds the UID of the logical cloud, which is not made \
                 yet: put the cloud without this user, ask for the subject of the request, and put it again with user and \
                 request";
    let good_request = request(organization, common_name, |_| {});
    let documents = vec![good(), with("early", &good_request)];
    let mut rows = vec![row("a signing request before its cloud", documents, early)];
    rows.extend(bad_requests(organization, common_name).map(|(name, der, rule)| {
        let refusal = format!("logical cloud {CLOUD}: spec.users[1].csr: {rule}");
        row(name, vec![good(), with(CLOUD, &der)], refusal)
    }));
    rows
}

/// Name, request, and the rule that it breaks.
fn bad_requests(organization: &str, common_name: &str) -> [(&'static str, Vec<u8>, String); 5] {
    let plain = |organization: &str, common_name: &str| request(organization, common_name, |_| {});
    let mut changed = plain(organization, common_name);
    *changed.last_mut().unwrap() ^= 1;
    let named = request(organization, common_name, |parameters| {
        parameters.subject_alt_names = vec![rcgen::SanType::DnsName("a.example".try_into().unwrap())];
    });
    let another = common_name.replace(":bob:", ":ann:");
    let subject = |found: &str| {
        format!("the request's subject is {found}; it must be exactly O={organization}, CN={common_name}")
    };
    let of_another = subject(&format!("O={organization}, CN={another}"));
    let nothing = "the PEM block must hold a PKCS #10 certificate request";
    let signature = "the request's signature must be made by its own key; the request was changed or cut";
    let attribute = "the request has the attribute 1.2.840.113549.1.9.14; it must have none: no extensions, alternative \
                     names or password";
    [
        ("a signing request for another subject", plain("team", "bob"), subject("O=team, CN=bob")),
        ("a signing request for another user", plain(organization, &another), of_another),
        ("a signing request with nothing in its block", b"nothing".to_vec(), nothing.to_owned()),
        ("a signing request whose signature is wrong", changed, signature.to_owned()),
        ("a signing request with an alternative name", named, attribute.to_owned()),
    ]
}

/// All of them, where the request of a user must have this subject.
fn table(organization: &str, common_name: &str) -> Vec<Row> {
    [clusters(), life(), requests(organization, common_name)].into_iter().flatten().collect()
}

/// The names of all rows.
pub(crate) fn names() -> Vec<&'static str> {
    table("organization", "common name").into_iter().map(|row| row.name).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_for_what_is_stored_names_its_path_and_changes_nothing() {
    let standing = Standing::new(CLOUD).await;
    let subject = standing.user.run(["subject", CLOUD, "bob", "-o", "json"]).done();
    let subject: Value = serde_json::from_str(&subject).unwrap();
    let part = |name: &str| subject[name].as_str().unwrap();
    let before = standing.before();
    for Row { name, files, refusal } in table(part("organization"), part("commonName")) {
        let mut arguments = Vec::new();
        for (number, documents) in files.iter().enumerate() {
            let file = format!("bad-{number}.json");
            standing.user.write(&file, &serde_json::to_string(documents).unwrap());
            arguments.extend(["-f".to_owned(), file]);
        }
        for command in ["plan", "apply"] {
            let arguments: Vec<&str> =
                [command].into_iter().chain(arguments.iter().map(|one| &**one)).collect();
            let ran = standing.user.run(&arguments);
            let said: Vec<&str> = ran.err.lines().filter_map(|line| line.strip_prefix("dcm: ")).collect();
            assert_eq!((ran.code, &*ran.out, said), (3, "", vec![&*refusal]), "{command}: {name}");
            standing.assert_unchanged(&before, name);
        }
    }
}
