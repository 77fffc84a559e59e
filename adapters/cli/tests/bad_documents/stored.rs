//! Documents that are well-formed, and refused for what is registered and stored already.

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::{Value, json};

use crate::standing::Standing;

/// The rows' names, for the list of kinds.
pub(crate) const NAMES: [&str; 12] = [
    "a cluster that is not registered",
    "a cluster that is not registered, in the second document",
    "a signing request before its cloud",
    "a signing request for another subject",
    "a signing request for another user",
    "a signing request with nothing in its block",
    "a signing request whose signature is wrong",
    "a signing request with an alternative name",
    "another namespace for a cloud that is on clusters",
    "another level for a cloud that is on clusters",
    "clusters of an admin cloud with different namespaces",
    "one cloud in two files",
];

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
    Row { name, files: vec![documents], refusal: refusal.into() }
}

fn clusters() -> Vec<Row> {
    // The second comes first in the order of names.
    let unknown = json!({"clusters": [{"provider": "real", "cluster": "nowhere"}, {"provider": "real", "cluster": "cluster-1"}]});
    let admin = json!({"level": "admin", "clusters": [{"provider": "real", "cluster": "cluster-2"}, {"provider": "real", "cluster": "cluster-1"}]});
    let refusal = r#"logical cloud bad: spec.clusters[0].cluster: is not registered: add the cluster first (found "real/nowhere")"#;
    vec![
        row(NAMES[0], vec![document("bad", &unknown)], refusal),
        row(NAMES[1], vec![good(), document("bad", &unknown)], refusal),
        row(
            NAMES[10],
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
        row(NAMES[8], vec![good(), document(CLOUD, &elsewhere)], namespace),
        row(NAMES[9], vec![good(), document(CLOUD, &admin)], level),
        Row { name: NAMES[11], files: vec![vec![good()], vec![good()]], refusal: twice.into() },
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
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    let label = "CERTIFICATE REQUEST";
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

fn requests(organization: &str, common_name: &str) -> Vec<Row> {
    let with = |cloud: &str, der: &[u8]| {
        let users = json!([{"name": "ann"}, {"name": "bob", "csr": pem(der)}]);
        document(cloud, &json!({"users": users, "clusters": [{"provider": "real", "cluster": "cluster-1"}]}))
    };
    let plain = |organization: &str, common_name: &str| request(organization, common_name, |_| {});
    let good_request = plain(organization, common_name);
    let mut changed = good_request.clone();
    *changed.last_mut().unwrap() ^= 1;
    let named = request(organization, common_name, |parameters| {
        parameters.subject_alt_names = vec![rcgen::SanType::DnsName("a.example".try_into().unwrap())];
    });
    let another = common_name.replace(":bob:", ":ann:");
    let subject = |found: &str| {
        format!("the request's subject is {found}; it must be exactly O={organization}, CN={common_name}")
    };
    let rows = [
        (NAMES[3], plain("team", "bob"), subject("O=team, CN=bob")),
        (NAMES[4], plain(organization, &another), subject(&format!("O={organization}, CN={another}"))),
        (NAMES[5], b"nothing".to_vec(), "the PEM block must hold a PKCS #10 certificate request".to_owned()),
        (
            NAMES[6],
            changed,
            "the request's signature must be made by its own key; the request was changed or cut".to_owned(),
        ),
        (
            NAMES[7],
            named,
            "the request has the attribute 1.2.840.113549.1.9.14; it must have none: no extensions, alternative names \
             or password"
                .to_owned(),
        ),
    ];
    let early = "logical cloud early: spec.users[1].csr: its subject holds the UID of the logical cloud, which is not made \
                 yet: put the cloud without this user, ask for the subject of the request, and put it again with user and \
                 request";
    let mut all = vec![row(NAMES[2], vec![good(), with("early", &good_request)], early)];
    all.extend(rows.map(|(name, der, rule)| {
        let refusal = format!("logical cloud stored: spec.users[1].csr: {rule}");
        row(name, vec![good(), with(CLOUD, &der)], refusal)
    }));
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_for_what_is_stored_names_its_path_and_changes_nothing() {
    let standing = Standing::new(CLOUD).await;
    let subject = standing.run(&["subject", CLOUD, "bob", "-o", "json"]).done();
    let subject: Value = serde_json::from_str(&subject).unwrap();
    let part = |name: &str| subject[name].as_str().unwrap();
    let mut rows = clusters();
    rows.extend(life());
    rows.extend(requests(part("organization"), part("commonName")));
    let mut names: Vec<&str> = rows.iter().map(|row| row.name).collect();
    names.sort_by_key(|name| NAMES.iter().position(|known| known == name));
    assert_eq!(names, NAMES);
    let before = standing.before();
    for Row { name, files, refusal } in rows {
        let mut arguments = vec!["apply".to_owned()];
        for (number, documents) in files.iter().enumerate() {
            let file = format!("bad-{number}.json");
            standing.user.write(&file, &serde_json::to_string(documents).unwrap());
            arguments.extend(["-f".to_owned(), file]);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ran = standing.run(&arguments);
        let said: Vec<&str> = ran.err.lines().filter_map(|line| line.strip_prefix("dcm: ")).collect();
        assert_eq!((ran.code, &*ran.out, said), (3, "", vec![&*refusal]), "{name}");
        standing.assert_unchanged(&before, name);
    }
}
