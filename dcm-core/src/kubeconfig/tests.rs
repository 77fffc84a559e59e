//! Kubeconfigs over made-up secrets: no test needs a real key, and none is kept.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::hash::ContentHash;
use crate::name::{LogicalCloudName, Namespace, ProjectName, ReferenceName, UserName};
use crate::secret::Secret;

/// Stands for a certificate; what is in it is nobody's business here.
const CERTIFICATE: &str = "certificate of the user";
/// Texts that must be seen nowhere but in the file itself.
const KEY: &str = "key-that-nobody-may-see";
const TOKEN: &str = "token-that-nobody-may-see";

fn authority() -> String {
    STANDARD.encode("-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n")
}

fn secret(value: &Value) -> Secret {
    Secret::new(value.to_string())
}

fn read(text: &Secret) -> Value {
    serde_saphyr::from_str(text.expose()).unwrap()
}

fn admin_file() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "here",
        "clusters": [
            {"name": "other", "cluster": {"server": "https://other.example"}},
            {"name": "east", "cluster": {
                "server": "https://10.0.0.5:6443",
                "certificate-authority-data": authority(),
                "tls-server-name": "east.example",
                "proxy-url": "socks5://proxy.example:1080",
            }},
        ],
        "contexts": [{"name": "here", "context": {"cluster": "east", "user": "root"}}],
        "users": [{"name": "root", "user": {"token": TOKEN, "client-key-data": STANDARD.encode(KEY)}}],
    })
}

fn admin() -> Admin {
    Admin::read(&secret(&admin_file())).unwrap()
}

fn certificate(key: Option<&str>) -> Credential {
    Credential::Certificate { certificate: CERTIFICATE.to_owned(), key: key.map(Secret::new) }
}

fn access_of(user: &str, references: &[&str], credential: &Credential) -> Access {
    let cluster = |name: &&str| {
        let access = ClusterAccess { cluster: admin(), credential: credential.clone() };
        (ReferenceName::new(name).unwrap(), access)
    };
    Access {
        project: ProjectName::new("p").unwrap(),
        logical_cloud: LogicalCloudName::new("lc").unwrap(),
        user: UserName::new(user).unwrap(),
        namespace: Namespace::new("ns").unwrap(),
        clusters: references.iter().map(cluster).collect::<BTreeMap<_, _>>(),
    }
}

fn access(references: &[&str]) -> Access {
    access_of("alice", references, &certificate(Some(KEY)))
}

fn merged(existing: &Value, access: &Access) -> Value {
    read(&merge(&secret(existing), access).unwrap())
}

fn names(file: &Value, list: &str) -> Vec<String> {
    file[list].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

fn entry<'a>(file: &'a Value, list: &str, name: &str) -> &'a Value {
    file[list].as_array().unwrap().iter().find(|entry| entry["name"] == name).unwrap()
}

/// A person's file with what other tools write, unknown members included.
fn persons_file() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "home", "preferences": {"colors": true},
        "unknown": {"deep": [1, "two", null, {"x": "yes"}]},
        "extensions": [{"name": "tool", "extension": {"a": 1}}],
        "clusters": [{"name": "home", "cluster": {
            "server": "https://home.example", "insecure-skip-tls-verify": true, "certificate-authority": "/ca.crt",
            "extensions": [{"name": "minikube", "extension": {"version": "v1.36.0"}}], "new-field": "0123",
        }, "beside": 1}],
        "contexts": [{"name": "home", "context": {"cluster": "home", "user": "me", "namespace": "n"}}],
        "users": [{"name": "me", "user": {
            "exec": {"command": "get-token", "args": ["--a b", "line\nline\n"], "env": [{"name": "E", "value": "on"}]},
        }}],
    })
}

#[test]
fn an_administrators_kubeconfig_gives_where_the_cluster_is() {
    let admin = admin();
    assert_eq!(admin.server(), "https://10.0.0.5:6443");
    assert_eq!(admin.certificate_authority_data(), Some(authority().as_str()));
    assert_eq!(admin.tls_server_name(), Some("east.example"));
    assert_eq!(admin.proxy_url(), Some("socks5://proxy.example:1080"));
    assert_eq!(format!("{admin:?}"), "Admin(https://10.0.0.5:6443)");
    let yaml = serde_saphyr::to_string(&admin_file()).unwrap();
    assert_eq!(Admin::read(&Secret::new(yaml)).unwrap(), admin);
}

#[test]
fn authorities_may_be_left_out_or_be_broken_into_lines() {
    let mut file = admin_file();
    file["clusters"][1]["cluster"] = json!({"server": "https://a", "insecure-skip-tls-verify": false});
    assert_eq!(Admin::read(&secret(&file)).unwrap().certificate_authority_data(), None);
    let broken = format!("{}\n{}\r\n", &authority()[..20], &authority()[20..]);
    file["clusters"][1]["cluster"]["certificate-authority-data"] = json!(broken);
    assert_eq!(Admin::read(&secret(&file)).unwrap().certificate_authority_data(), Some(authority().as_str()));
}

/// A file whose cluster has this bundle of authorities.
fn with_bundle(pem: &str) -> Secret {
    let mut file = admin_file();
    file["clusters"][1]["cluster"]["certificate-authority-data"] = json!(STANDARD.encode(pem));
    secret(&file)
}

#[test]
fn a_bundle_with_a_block_that_can_not_be_read_is_used_without_it_and_warned_of() {
    let certificate = |name: &str| rcgen::generate_simple_self_signed([name.to_owned()]).unwrap().cert.pem();
    let (one, two) = (certificate("one"), certificate("two"));
    let block = |label: &str, body: &str| format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n");
    let whole = format!("{one}{two}");
    for (bundle, used, left_out) in [
        (whole.clone(), &whole, 0),
        (format!("# the first\n{one}text\n{two}"), &format!("# the first\n{one}text\n{two}"), 0),
        (format!("{one}{}{two}", block("CERTIFICATE", "QUJD")), &whole, 1),
        (format!("{}{two}", block("CERTIFICATE", "not base64")), &two, 1),
        (format!("{one}{}", block("PRIVATE KEY", "QUJD")), &one, 1),
        (format!("{one}  {}", block("PRIVATE KEY", "QUJD")), &one, 1),
        (format!("{one}key: {}", block("PRIVATE KEY", "QUJD")), &one, 1),
        (format!("{}{one}{}", block("CERTIFICATE", ""), block("X509 CRL", "QUJD")), &one, 2),
        (format!("{}\n{two}", &one[..one.len() / 2]), &two, 1),
    ] {
        let text = with_bundle(&bundle);
        let admin = Admin::read(&text).unwrap();
        let data = STANDARD.decode(admin.certificate_authority_data().unwrap()).unwrap();
        assert_eq!(String::from_utf8(data).unwrap(), *used);
        let warnings = Admin::warnings(&text);
        assert_eq!(warnings.len(), usize::from(left_out > 0), "{warnings:?}");
        let start = format!("clusters[1].cluster.certificate-authority-data: ignored {left_out} block");
        assert!(warnings.iter().all(|warning| warning.starts_with(&start)), "{warnings:?}");
    }
    for bundle in ["", "text", &block("PRIVATE KEY", "QUJD")] {
        let file = with_bundle(bundle);
        let is_none = bundle.is_empty();
        assert_eq!(Admin::read(&file).is_ok(), is_none, "{bundle}");
    }
}

/// The endpoint of the file with other members in its cluster.
fn endpoint_with(members: &Value) -> ContentHash {
    let mut file = admin_file();
    for (member, value) in members.as_object().unwrap() {
        file["clusters"][1]["cluster"][member] = value.clone();
    }
    Admin::read(&secret(&file)).unwrap().endpoint()
}

#[test]
fn another_credential_keeps_the_endpoint() {
    let mut file = admin_file();
    file["users"] = json!([{"name": "root", "user": {"exec": {"command": "login"}}}]);
    file["contexts"][0]["context"]["namespace"] = "other".into();
    file["clusters"][0]["cluster"]["server"] = "https://yet-another.example".into();
    assert_eq!(Admin::read(&secret(&file)).unwrap().endpoint(), admin().endpoint());
}

#[test]
fn whatever_decides_which_server_is_trusted_changes_the_endpoint() {
    let certificate =
        |body: &str| format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n");
    let authorities =
        |bodies: &[&str]| STANDARD.encode(bodies.iter().map(|body| certificate(body)).collect::<String>());
    let others = [
        json!({}),
        json!({"server": "https://10.0.0.6:6443"}),
        json!({"server": "https://10.0.0.5:6444"}),
        json!({"server": "https://10.0.0.5"}),
        json!({"server": "https://10.0.0.5:6443/k8s/clusters/a"}),
        json!({"server": "https://10.0.0.5:6443/k8s/clusters/A"}),
        json!({"certificate-authority-data": null}),
        json!({"certificate-authority-data": authorities(&["REVG"])}),
        json!({"certificate-authority-data": authorities(&["QUJD", "REVG"])}),
        json!({"tls-server-name": null}),
        json!({"tls-server-name": "west.example"}),
        json!({"proxy-url": null}),
        json!({"proxy-url": "socks5://proxy.example:1081"}),
        json!({"proxy-url": "http://proxy.example:1080"}),
    ];
    let endpoints: BTreeSet<ContentHash> = others.iter().map(endpoint_with).collect();
    assert_eq!(endpoints.len(), others.len());
}

#[test]
fn another_spelling_keeps_the_endpoint() {
    let of = |server: &str| endpoint_with(&json!({"server": server}));
    assert_eq!(of("HTTPS://East.Example:443/"), of("https://east.example"));
    assert_eq!(of("https://[FD00::1]:443"), of("https://[fd00::1]//"));
    assert_eq!(of("https://east.example/k8s/"), of("https://east.example/k8s"));
    assert_ne!(of("https://east.example/?a/"), of("https://east.example/?a"));
    assert_ne!(of("https://east.example:4430"), of("https://east.example:443"));
    let with_others =
        STANDARD.encode("-----BEGIN CERTIFICATE-----\r\nQUJD \r\n\r\n-----END CERTIFICATE-----");
    assert_eq!(endpoint_with(&json!({"certificate-authority-data": with_others})), admin().endpoint());
    assert_eq!(endpoint_with(&json!({"tls-server-name": "EAST.example"})), admin().endpoint());
    assert_eq!(endpoint_with(&json!({"proxy-url": "socks5://Proxy.example:1080/"})), admin().endpoint());
}

fn refused_path(pointer: &str, value: &Value) -> String {
    let mut file = admin_file();
    *file.pointer_mut(pointer).unwrap() = value.clone();
    match Admin::read(&secret(&file)) {
        Err(Invalid::Field { path, .. }) => path,
        other => panic!("{pointer}: {other:?}"),
    }
}

#[test]
fn what_is_missing_or_refused_on_the_way_to_the_cluster_is_named_by_its_path() {
    let double = json!([admin_file()["clusters"][1], admin_file()["clusters"][1]]);
    let rows = [
        ("/kind", json!("Pod"), "kind"),
        ("/apiVersion", json!("v2"), "apiVersion"),
        ("/current-context", json!(""), "current-context"),
        ("/current-context", json!("gone"), "current-context"),
        ("/current-context", json!(7), "current-context"),
        ("/contexts", json!("x"), "contexts"),
        ("/contexts/0", json!("x"), "contexts[0]"),
        ("/contexts/0/name", json!(7), "contexts[0].name"),
        ("/contexts/0/name", json!(null), "current-context"),
        ("/contexts/0/context", json!(null), "contexts[0].context.cluster"),
        ("/contexts/0/context/cluster", json!("gone"), "contexts[0].context.cluster"),
        ("/clusters", double, "clusters[1].name"),
    ];
    for (pointer, value, expected) in rows {
        assert_eq!(refused_path(pointer, &value), expected, "{pointer} {value}");
    }
}

#[test]
fn what_is_missing_or_refused_in_the_cluster_is_named_by_its_path() {
    let with_key = STANDARD.encode("-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n");
    let rows = [
        ("server", json!(null)),
        ("server", json!(["https://a"])),
        ("server", json!("http://a")),
        ("server", json!("https://")),
        ("server", json!("https://u:p@a")),
        ("server", json!("https://a\nb")),
        ("proxy-url", json!("http://u:p@a")),
        ("proxy-url", json!("file:///a")),
        ("certificate-authority-data", json!("%")),
        ("certificate-authority-data", json!(STANDARD.encode("no certificate"))),
        ("certificate-authority-data", json!(with_key)),
        ("certificate-authority", json!("/ca.crt")),
        ("certificate-authority-data", json!(authority().replacen('Q', " Q", 1))),
        ("insecure-skip-tls-verify", json!(true)),
        ("insecure-skip-tls-verify", json!("true")),
    ];
    for (member, value) in rows {
        let mut cluster = json!({"server": "https://a"});
        cluster[member] = value.clone();
        let path = refused_path("/clusters/1/cluster", &cluster);
        assert_eq!(path, format!("clusters[1].cluster.{member}"), "{value}");
    }
}

#[test]
fn a_broken_file_is_refused_with_its_place_and_none_of_its_content() {
    let rows = [
        (format!("users:\n- name: a\n  user:\n    token: \"{TOKEN}\n"), (5, 1)),
        (format!("token: {TOKEN}\n  key: {KEY}\n"), (2, 6)),
        (format!("a: {TOKEN}\n]\n---\nb: {KEY}\n"), (2, 1)),
    ];
    for (text, (line, column)) in rows {
        let expected = Invalid::Syntax { line, column };
        assert_eq!(Admin::read(&Secret::new(text.as_str())).unwrap_err(), expected);
        let error = merge(&Secret::new(text), &access(&["east"])).unwrap_err();
        assert_eq!(error, MergeError::Existing(expected));
        assert_shows_no_secret(&error);
    }
    let too_large = Secret::new(" ".repeat(KUBECONFIG_BYTES_MAX + 1));
    assert_eq!(Admin::read(&too_large).unwrap_err(), Invalid::TooLarge);
    assert!(matches!(Admin::read(&Secret::new(TOKEN)), Err(Invalid::Field { path, .. }) if path.is_empty()));
}

fn assert_shows_no_secret(error: &(dyn std::error::Error + 'static)) {
    let mut text = format!("{error:?} {error}");
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(&format!(" {error:?} {error}"));
        source = error.source();
    }
    assert_hides_secrets(&text);
}

fn assert_hides_secrets(text: &str) {
    for hidden in [KEY.to_owned(), TOKEN.to_owned(), STANDARD.encode(KEY), STANDARD.encode(TOKEN)] {
        assert!(!text.contains(&hidden), "{text}");
    }
}

#[test]
fn no_debug_shows_a_key_or_a_token() {
    for credential in [certificate(Some(KEY)), Credential::Token(Secret::new(TOKEN))] {
        let access = access_of("alice", &["east"], &credential);
        let file = access.for_all_clusters();
        assert_hides_secrets(&format!("{access:?} {file:?} {:?}", file.to_yaml()));
        assert_hides_secrets(&format!("{:?}", merge(&Secret::new(""), &access)));
    }
}

#[test]
fn the_file_for_one_cluster_is_named_by_reference_and_user() {
    let reference = ReferenceName::new("east").unwrap();
    let file = access(&["east", "west"]).for_cluster(&reference).unwrap();
    let expected = format!(
        r#"apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: {authority}
    proxy-url: "socks5://proxy.example:1080"
    server: "https://10.0.0.5:6443"
    tls-server-name: east.example
  name: east
contexts:
- context:
    cluster: east
    namespace: ns
    user: alice
  name: alice-context
current-context: alice-context
kind: Config
preferences: {{}}
users:
- name: alice
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
"#,
        authority = authority(),
        certificate = STANDARD.encode(CERTIFICATE),
        key = STANDARD.encode(KEY),
    );
    let yaml = file.to_yaml().unwrap();
    assert_eq!(read(&yaml), serde_saphyr::from_str::<Value>(&expected).unwrap());
    let members =
        |text: &str| text.lines().filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect();
    let (found, wanted): (Vec<String>, Vec<String>) = (members(yaml.expose()), members(&expected));
    assert_eq!(found, wanted);
    let json: Value = serde_json::from_str(file.to_json().unwrap().expose()).unwrap();
    assert_eq!(json, read(&yaml));
    assert!(access(&["east"]).for_cluster(&ReferenceName::new("north").unwrap()).is_none());
}

#[test]
fn emcos_file_for_one_cluster_has_another_name_for_its_context_alone() {
    let (reference, access) = (ReferenceName::new("east").unwrap(), access(&["east"]));
    let file = read(&access.for_cluster_as_emco(&reference).unwrap().to_yaml().unwrap());
    assert_eq!(names(&file, "contexts"), ["alice@east"]);
    assert_eq!(file["current-context"], "alice@east");
    let documented = read(&access.for_cluster(&reference).unwrap().to_yaml().unwrap());
    assert_eq!((&file["clusters"], &file["users"]), (&documented["clusters"], &documented["users"]));
}

#[test]
fn the_file_for_all_clusters_names_contexts_and_users_by_user_and_reference() {
    let file = read(&access(&["west", "east"]).for_all_clusters().to_yaml().unwrap());
    assert_eq!(names(&file, "clusters"), ["east", "west"]);
    assert_eq!(names(&file, "contexts"), ["alice@east", "alice@west"]);
    assert_eq!(names(&file, "users"), ["alice@east", "alice@west"]);
    assert_eq!(file["current-context"], "alice@east");
    let context = &entry(&file, "contexts", "alice@west")["context"];
    assert_eq!(*context, json!({"cluster": "west", "namespace": "ns", "user": "alice@west"}));
    assert_eq!(names(&read(&access(&[]).for_all_clusters().to_yaml().unwrap()), "users"), [""; 0]);
}

#[test]
fn a_credential_is_a_certificate_with_or_without_key_or_a_token() {
    let data = STANDARD.encode(CERTIFICATE);
    let rows = [
        (
            certificate(Some(KEY)),
            json!({"client-certificate-data": data, "client-key-data": STANDARD.encode(KEY)}),
        ),
        (certificate(None), json!({"client-certificate-data": data})),
        (Credential::Token(Secret::new(TOKEN)), json!({"token": TOKEN})),
    ];
    for (credential, expected) in rows {
        let file = access_of("alice", &["east"], &credential).for_all_clusters();
        assert_eq!(read(&file.to_yaml().unwrap())["users"][0]["user"], expected);
    }
}

#[test]
fn a_merge_into_nothing_is_a_whole_marked_file() {
    for nothing in ["", "\n", "# only a comment\n", "---\n", "{}"] {
        let file = read(&merge(&Secret::new(nothing), &access(&["east"])).unwrap());
        let mark = json!({"project": "p", "logical-cloud": "lc", "reference": "east", "user": "alice"});
        let shared = json!({"project": "p", "logical-cloud": "lc", "reference": "east"});
        let extensions = |mark: &Value| json!([{"name": MARK_NAME, "extension": mark}]);
        let expected = json!({
            "apiVersion": "v1", "kind": "Config", "preferences": {}, "current-context": "alice@p/lc/east",
            "clusters": [{"name": "p/lc/east", "cluster": {
                "server": "https://10.0.0.5:6443", "certificate-authority-data": authority(),
                "tls-server-name": "east.example", "proxy-url": "socks5://proxy.example:1080",
                "extensions": extensions(&shared),
            }}],
            "contexts": [{"name": "alice@p/lc/east", "context": {
                "cluster": "p/lc/east", "user": "alice@p/lc/east", "namespace": "ns", "extensions": extensions(&mark),
            }}],
            "users": [{"name": "alice@p/lc/east", "user": {
                "client-certificate-data": STANDARD.encode(CERTIFICATE), "client-key-data": STANDARD.encode(KEY),
                "extensions": extensions(&mark),
            }}],
        });
        assert_eq!(file, expected, "{nothing:?}");
    }
}

#[test]
fn everything_else_in_a_persons_file_stays_as_it_was() {
    let before = persons_file();
    let mut after = merged(&before, &access(&["east", "west"]));
    assert_eq!(names(&after, "contexts"), ["home", "alice@p/lc/east", "alice@p/lc/west"]);
    for list in ["clusters", "contexts", "users"] {
        after[list].as_array_mut().unwrap().truncate(1);
    }
    assert_eq!(after, before);
}

#[test]
fn the_current_context_is_set_only_if_there_is_none() {
    let mut file = persons_file();
    assert_eq!(merged(&file, &access(&["east"]))["current-context"], "home");
    for none in [json!(""), json!(null)] {
        file["current-context"] = none;
        assert_eq!(merged(&file, &access(&["east"]))["current-context"], "alice@p/lc/east");
    }
    file["current-context"] = json!("not there");
    assert_eq!(merged(&file, &access(&["east"]))["current-context"], "not there");
}

#[test]
fn a_current_context_that_is_removed_stays_and_is_named() {
    let first = merged(&json!({}), &access(&["east"]));
    for references in [&["west"][..], &[]] {
        let files = merge_files(&[secret(&first)], 0, &access(references), CurrentContext::Keep).unwrap();
        assert_eq!(files.removed_current.as_deref(), Some("alice@p/lc/east"));
        assert_eq!(read(files.texts[0].as_ref().unwrap())["current-context"], "alice@p/lc/east");
    }
    let files = merge_files(&[secret(&first)], 0, &access(&["west"]), CurrentContext::Use).unwrap();
    assert_eq!(files.removed_current, None);
    assert_eq!(read(files.texts[0].as_ref().unwrap())["current-context"], "alice@p/lc/west");
}

#[test]
fn the_current_context_is_ours_on_request() {
    let files = merge_files(&[secret(&persons_file())], 0, &access(&["west"]), CurrentContext::Use).unwrap();
    assert_eq!(read(files.texts[0].as_ref().unwrap())["current-context"], "alice@p/lc/west");
    let nothing = merge_files(&[secret(&persons_file())], 0, &access(&[]), CurrentContext::Use).unwrap();
    assert_eq!(nothing.texts, [None]);
}

/// What becomes of several files; none for one that is not written.
fn merged_files(files: &[Value], for_new: usize, access: &Access) -> Vec<Option<Value>> {
    let files: Vec<Secret> = files.iter().map(secret).collect();
    let merged = merge_files(&files, for_new, access, CurrentContext::Keep).unwrap();
    merged.texts.iter().map(|text| text.as_ref().map(read)).collect()
}

#[test]
fn of_several_files_one_takes_new_entries_and_an_entry_that_is_there_stays_in_its_file() {
    let (empty, own) = (json!({}), persons_file());
    let [None, Some(second)] = &*merged_files(&[empty.clone(), own.clone()], 1, &access(&["east"])) else {
        panic!()
    };
    assert_eq!(names(second, "contexts"), ["home", "alice@p/lc/east"]);
    let [Some(first), None] = &*merged_files(&[empty.clone(), own.clone()], 0, &access(&["east"])) else {
        panic!()
    };
    // There is a current context in the other file.
    assert_eq!(
        (names(first, "contexts"), first.get("current-context")),
        (vec!["alice@p/lc/east".to_owned()], None)
    );

    let renewed = access_of("alice", &["east", "west"], &Credential::Token(Secret::new(TOKEN)));
    let [Some(first), Some(second)] = &*merged_files(&[own.clone(), second.clone()], 0, &renewed) else {
        panic!()
    };
    assert_eq!(names(first, "users"), ["me", "alice@p/lc/west"]);
    assert_eq!(names(second, "users"), ["me", "alice@p/lc/east"]);
    assert_eq!(entry(second, "users", "alice@p/lc/east")["user"]["token"], TOKEN);

    let [Some(first), Some(second)] = &*merged_files(&[first.clone(), second.clone()], 0, &access(&[]))
    else {
        panic!()
    };
    assert_eq!((first, second), (&own, &own));
    assert_eq!(merged_files(&[own.clone(), empty], 1, &access(&[])), [None, None]);
}

#[test]
fn an_entry_that_several_files_have_is_left_in_the_first_one() {
    let file = merged(&persons_file(), &access(&["east"]));
    let renewed = access_of("alice", &["east"], &Credential::Token(Secret::new(TOKEN)));
    let [Some(first), Some(second)] = &*merged_files(&[file.clone(), file], 1, &renewed) else { panic!() };
    assert_eq!(names(first, "users"), ["me", "alice@p/lc/east"]);
    assert_eq!(*second, persons_file());
}

#[test]
fn a_file_that_is_broken_or_has_one_of_our_names_leaves_all_files() {
    let taken = json!({"users": [{"name": "alice@p/lc/east", "user": {}}]});
    for broken in [taken, json!({"users": {}}), json!([])] {
        let files = [secret(&persons_file()), secret(&broken)];
        let refused = merge_files(&files, 0, &access(&["east"]), CurrentContext::Keep).unwrap_err();
        assert_eq!(refused.file, 1, "{refused}");
    }
}

#[test]
fn a_merge_never_writes_a_file_that_it_would_refuse_to_read() {
    let almost = "x".repeat(KUBECONFIG_BYTES_MAX - 500);
    let full = secret(&json!({"preferences": {"note": almost}}));
    assert_eq!(merge(&full, &access(&["east"])).unwrap_err(), MergeError::TooLarge);
    merge(&full, &access(&[])).unwrap();
}

#[test]
fn a_repeated_merge_changes_nothing() {
    let once = merge(&secret(&persons_file()), &access(&["east", "west"])).unwrap();
    let twice = merge(&once, &access(&["east", "west"])).unwrap();
    assert_eq!(once.expose(), twice.expose());
}

#[test]
fn a_renewed_credential_replaces_the_old_one_in_its_place() {
    let first = merged(&persons_file(), &access(&["east"]));
    let mut tail = first.clone();
    tail["users"].as_array_mut().unwrap().push(json!({"name": "later", "user": {}}));
    let renewed = access_of("alice", &["east"], &Credential::Token(Secret::new(TOKEN)));
    let after = merged(&tail, &renewed);
    assert_eq!(names(&after, "users"), ["me", "alice@p/lc/east", "later"]);
    let user = &entry(&after, "users", "alice@p/lc/east")["user"];
    assert_eq!((user["token"].as_str(), user.get("client-key-data")), (Some(TOKEN), None));
}

#[test]
fn entries_that_are_no_longer_wanted_are_removed_and_an_access_to_nothing_removes_all() {
    let both = merged(&persons_file(), &access(&["east", "west"]));
    let one = merged(&both, &access(&["west"]));
    assert_eq!(names(&one, "clusters"), ["home", "p/lc/west"]);
    assert_eq!(names(&one, "users"), ["me", "alice@p/lc/west"]);
    assert_eq!(merged(&one, &access(&[])), persons_file());
}

#[test]
fn entries_of_other_clouds_projects_and_users_stay() {
    let mut other_cloud = access(&["east"]);
    other_cloud.logical_cloud = LogicalCloudName::new("lc2").unwrap();
    let mut other_project = access(&["east"]);
    other_project.project = ProjectName::new("p2").unwrap();
    let bob = access_of("bob", &["east", "west"], &certificate(Some(KEY)));
    let mut file = merged(&json!({}), &access(&["east"]));
    for other in [&other_cloud, &other_project, &bob] {
        file = merged(&file, other);
    }
    let after = merged(&file, &access(&[]));
    assert_eq!(
        names(&after, "contexts"),
        ["alice@p/lc2/east", "alice@p2/lc/east", "bob@p/lc/east", "bob@p/lc/west"]
    );
    // Bob still needs the cluster entries that he shares with Alice.
    assert_eq!(names(&after, "clusters"), ["p/lc/east", "p/lc2/east", "p2/lc/east", "p/lc/west"]);
}

#[test]
fn a_cluster_entry_stays_while_a_persons_own_context_names_it() {
    let mut file = merged(&persons_file(), &access(&["east"]));
    let own = json!({"name": "own", "context": {"cluster": "p/lc/east", "user": "me"}});
    file["contexts"].as_array_mut().unwrap().push(own);
    let after = merged(&file, &access(&[]));
    assert_eq!(names(&after, "clusters"), ["home", "p/lc/east"]);
    assert_eq!(names(&after, "users"), ["me"]);
}

#[test]
fn a_same_named_entry_without_our_mark_is_refused_with_its_name() {
    let unmarked = json!([]);
    let others =
        json!([{"name": "tool", "extension": {"project": "p", "logical-cloud": "lc", "reference": "east"}}]);
    let another_cloud = json!([{"name": MARK_NAME, "extension":
        {"project": "p", "logical-cloud": "x", "reference": "east", "user": "alice"}}]);
    let broken = json!([{"name": MARK_NAME, "extension": "p"}]);
    for (list, content) in [("clusters", "cluster"), ("contexts", "context"), ("users", "user")] {
        for extensions in [&unmarked, &others, &another_cloud, &broken] {
            let mut file = merged(&json!({}), &access(&["east"]));
            file[list][0][content]["extensions"] = extensions.clone();
            let name = file[list][0]["name"].as_str().unwrap().to_owned();
            let error = merge(&secret(&file), &access(&["east"])).unwrap_err();
            assert_eq!(error, MergeError::NameTaken { list, name });
            assert_shows_no_secret(&error);
        }
    }
}

#[test]
fn a_key_that_its_owner_added_survives_a_renewal() {
    let own = access_of("alice", &["east"], &certificate(None));
    for (member, value) in
        [("client-key", "/keys/alice.pem".to_owned()), ("client-key-data", STANDARD.encode(KEY))]
    {
        let mut file = merged(&json!({}), &own);
        file["users"][0]["user"][member] = json!(value);
        assert_eq!(merged(&file, &own)["users"][0]["user"][member], value);
    }
}

#[test]
fn a_key_of_ours_does_not_survive_a_change_to_the_owners_own_key() {
    let file = merged(&json!({}), &access(&["east"]));
    let after = merged(&file, &access_of("alice", &["east"], &certificate(None)));
    assert_eq!(after["users"][0]["user"].get("client-key-data"), None);
}

#[test]
fn a_list_or_an_entry_of_another_shape_is_refused_by_its_path() {
    for (member, value, expected) in [
        ("clusters", json!({}), "clusters"),
        ("contexts", json!([{}, {"name": ""}]), "contexts[1].name"),
        ("users", json!([{"name": ["a"]}]), "users[0].name"),
        ("kind", json!("Secret"), "kind"),
    ] {
        let mut file = persons_file();
        file[member] = value;
        let error = merge(&secret(&file), &access(&["east"])).unwrap_err();
        let MergeError::Existing(Invalid::Field { path, .. }) = error else { panic!("{member}: {error:?}") };
        assert_eq!(path, expected);
    }
}

#[test]
fn null_lists_as_kubectl_writes_them_are_empty() {
    let file =
        json!({"apiVersion": "v1", "kind": "Config", "clusters": null, "contexts": null, "users": null});
    assert_eq!(names(&merged(&file, &access(&["east"])), "users"), ["alice@p/lc/east"]);
}

/// Any JSON value that a YAML file can hold, with texts that look like something else.
fn any_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[ -~\\n\\té漢😀]{0,40}",
        prop::sample::select(vec![
            "yes",
            "no",
            "0123",
            "1e3",
            "~",
            "null",
            "1:30",
            "- a",
            "#",
            "{",
            "2020-01-01",
            "&a",
            "<<",
            "=",
            "0x1F",
        ])
        .prop_map(str::to_owned),
    ];
    let scalar = prop_oneof![
        text.clone().prop_map(Value::String),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::Bool),
        Just(Value::Null),
    ];
    scalar.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(text.clone(), inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn whatever_is_in_a_file_stays_and_taking_out_restores_it(top in any_value(), inner in any_value()) {
        let mut file = persons_file();
        file["anything"] = top;
        file["users"][0]["user"]["anything"] = inner.clone();
        file["clusters"][0]["anything"] = inner;
        let with_ours = merged(&file, &access(&["east", "west"]));
        prop_assert_eq!(merged(&with_ours, &access(&[])), file);
    }

    #[test]
    fn no_text_makes_reading_panic_or_leak(text in "[ -~\\n]{0,80}") {
        let text = format!("{text}\n{TOKEN}: {KEY}{text}");
        if let Err(error) = Admin::read(&Secret::new(text.as_str())) {
            assert_shows_no_secret(&error);
        }
        if let Err(error) = merge(&Secret::new(text), &access(&["east"])) {
            assert_shows_no_secret(&error);
        }
    }
}

#[test]
fn what_was_written_of_an_access_is_read_again() {
    let read = |text: Secret| Access::read(access(&[]).project, access(&[]).logical_cloud, &text);
    for credential in [certificate(Some(KEY)), certificate(None), Credential::Token(Secret::new(TOKEN))] {
        let given = access_of("alice", &["east", "west"], &credential);
        let all = given.for_all_clusters();
        for text in [all.to_json(), all.to_yaml()] {
            let found = read(text.unwrap()).unwrap();
            assert_eq!(found.for_merging().to_json(), given.for_merging().to_json());
        }
        let one = given.for_cluster(&ReferenceName::new("west").unwrap()).unwrap();
        let found = read(one.to_json().unwrap()).unwrap();
        let west = access_of("alice", &["west"], &credential);
        assert_eq!(found.for_merging().to_json(), west.for_merging().to_json());
    }
    for (text, path) in [
        (json!({}), "contexts: "),
        (admin_file(), "contexts[0].context.namespace: "),
        (
            json!({"contexts": [{"name": "c", "context": {"cluster": "a b"}}]}),
            "contexts[0].context.cluster: ",
        ),
    ] {
        let refused = read(secret(&text)).unwrap_err().to_string();
        assert!(refused.starts_with(path) && !refused.contains(TOKEN), "{refused}");
    }
}

#[test]
fn a_file_that_is_not_utf_8_is_refused_with_its_encoding() {
    let text = "apiVersion: v1\nkind: Config\n";
    let (little, big): (Vec<u8>, Vec<u8>) = (
        text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
    );
    let latin = "name: Z\u{fc}rich\n".chars().map(|one| u8::try_from(u32::from(one)).unwrap()).collect();
    let wide = text.chars().flat_map(|one| u32::from(one).to_le_bytes());
    for (bytes, encoding) in [
        ([&[0xff, 0xfe], &*little].concat(), "UTF-16, little endian"),
        (little, "UTF-16, little endian"),
        ([&[0xfe, 0xff], &*big].concat(), "UTF-16, big endian"),
        (big, "UTF-16, big endian"),
        ([0xff, 0xfe, 0, 0].into_iter().chain(wide).collect(), "UTF-32, little endian"),
        (latin, "in another encoding, such as Latin-1 or Windows-1252"),
        (b"a: \x80\n".to_vec(), "in another encoding, such as Latin-1 or Windows-1252"),
        (
            text.as_bytes().iter().copied().chain([0xe2, 0x82]).collect(),
            "in another encoding, such as Latin-1 or Windows-1252",
        ),
    ] {
        assert_eq!(decode(bytes).unwrap_err(), Invalid::Encoding { encoding });
    }
    for bytes in [text.as_bytes().to_vec(), [b"\xef\xbb\xbf", text.as_bytes()].concat()] {
        assert_eq!(decode(bytes).unwrap().expose(), text);
    }
    assert_eq!(decode("name: Z\u{fc}rich".into()).unwrap().expose(), "name: Z\u{fc}rich");
}
