//! Where the users of a cluster reach it, when that is elsewhere than for its administrator, on a real API server.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_testenv::{Environment, Route};
use serde_json::{Value, json};

use crate::common::Ran;
use crate::common::installation::{Installation, registered, until};

/// One is enough: what users get of one cluster has nothing to do with another.
const CLUSTERS: usize = 1;

const CLOUD: &str = "user-server";

/// What is set, and what becomes of it.
struct Case<'a> {
    set: Vec<&'a str>,
    /// The server and the TLS server name that users get.
    server: &'a str,
    name: Option<&'a str>,
    /// What kubectl says where it does not work.
    refused: Option<&'a str>,
}

/// The only cluster of the file that the user gets, and what the command warned of.
fn given(installation: &Installation<'_>) -> (Value, String) {
    let ran = installation.person.run(["kubeconfig", CLOUD, "--user", "ann", "-o", "json"]);
    let warned = ran.err.clone();
    let file: Value = serde_json::from_str(&ran.done()).unwrap();
    (file["clusters"][0]["cluster"].clone(), warned)
}

/// What kubectl makes of the user's file.
fn tried(environment: &Environment, installation: &Installation<'_>) -> Ran {
    let file = installation.person.home().join("user");
    installation.person.run(["kubeconfig", CLOUD, "--user", "ann", "--file", file.to_str().unwrap()]).done();
    let mut kubectl = Command::new(environment.kubectl());
    let home = installation.person.home();
    kubectl.env_clear().env("HOME", home).env("KUBECONFIG", &file).args(["get", "limitranges", "-o", "name"]);
    Ran::of(kubectl.stdin(Stdio::null()).output().unwrap())
}

#[tokio::test]
async fn users_get_the_address_that_was_set_for_them_and_reach_the_cluster_there() {
    let environment = Environment::group("user_server", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "user-server");
    let [cluster] = installation.clusters() else { panic!() };
    let (id, person) = (registered(cluster), &installation.person);
    let permission =
        json!({"name": "read", "apiGroups": [""], "resources": ["limitranges"], "verbs": ["list"]});
    let users = json!([{"name": "ann"}]);
    let document = installation.document(CLOUD, json!({"users": users, "permissions": [permission]}));
    installation.apply(&document).done();

    let (direct, port) = (cluster.url(), cluster.address().port());
    let authority = person.write("authority", &cluster.certificate_authority());
    let other = rcgen::generate_simple_self_signed(["elsewhere".to_owned()]).unwrap();
    let other = person.write("other", &other.cert.pem());
    let (authority, other) = (authority.to_str().unwrap(), other.to_str().unwrap());
    let (localhost, proxied) = (format!("https://localhost:{port}"), cluster.url_by(Route::Proxy));
    let case = |set, server, name, refused| Case { set, server, name, refused };
    let (server, set_authority, set_name) = ("--user-server", "--user-authority", "--user-tls-server-name");
    let cases = [
        case(vec!["--no-user-server"], &direct, None, None),
        case(vec![server, &localhost], &localhost, None, None),
        case(vec![server, &localhost, set_authority, authority], &localhost, None, None),
        case(vec![server, &proxied, set_name, "kubernetes"], &proxied, Some("kubernetes"), None),
        case(vec![server, &localhost, set_authority, other], &localhost, None, Some("unknown authority")),
        case(
            vec![server, &localhost, set_name, "elsewhere"],
            &localhost,
            Some("elsewhere"),
            Some("elsewhere"),
        ),
    ];
    for Case { set, server, name, refused } in cases {
        person.run(["cluster", "update", &id].into_iter().chain(set.iter().copied())).done();
        let (given, warned) = given(&installation);
        assert_eq!((&given["server"], &given["tls-server-name"]), (&json!(server), &json!(name)), "{set:?}");
        assert!(warned.contains(&format!("users get {server}, a loopback address")), "{set:?}: {warned}");
        let data = STANDARD.decode(given["certificate-authority-data"].as_str().unwrap()).unwrap();
        let is_other = data == std::fs::read(other).unwrap();
        assert_eq!(is_other, set.contains(&other), "{set:?}");
        match refused {
            // An API server hears of a binding a little later.
            None => {
                let works = async || (tried(&environment, &installation).code == 0).then_some(());
                until(&format!("{set:?}"), works).await;
            }
            Some(refused) => {
                let said = tried(&environment, &installation).err;
                assert!(said.contains(refused), "{set:?}: {said}");
            }
        }
    }

    // The engine goes on by the administrator's way, and what it did is not asked for again.
    assert_eq!(installation.lane(CLOUD, cluster)["state"], "done");
    let wide = person.run(["cluster", "list", "-o", "wide"]).done();
    assert!(wide.contains(&localhost) && wide.contains(&direct), "{wide}");
}

#[tokio::test]
async fn an_address_that_others_hardly_reach_gets_a_warning_when_it_is_registered_and_when_it_is_handed_out()
{
    let environment = Environment::group("user_server", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "warned");
    let [cluster] = installation.clusters() else { panic!() };
    let person = &installation.person;
    // As kind, k3s, tunnels, container networks and machines of one network segment name theirs; the last ones are reached from elsewhere.
    for (number, (server, nearby)) in [
        ("https://127.0.0.1:6443", Some("a loopback address")),
        ("https://[::1]:6443", Some("a loopback address")),
        ("https://lab.localhost:6443", Some("a loopback address")),
        ("https://0.0.0.0:6550", Some("an unspecified address")),
        ("https://169.254.7.7:6443", Some("a link-local address")),
        ("https://kubernetes:6443", Some("a host name of one word")),
        ("https://api.lab.example:6443", None),
        ("https://192.0.2.7:6443", None),
    ]
    .into_iter()
    .enumerate()
    {
        let text = cluster.admin_kubeconfig(Route::Direct).replace(&cluster.url(), server);
        let (file, id) = (person.write("elsewhere", &text), format!("other/cluster-{number}"));
        let file = file.to_str().unwrap();
        let added = person.run(["cluster", "add", &id, "--unchecked", "--kubeconfig", file]);
        let warns = |said: &str| said.contains("hardly reach");
        assert_eq!(warns(&added.err), nearby.is_some(), "{server}: {added:#?}");
        let Some(nearby) = nearby else { continue };
        let warning = format!("{id}: users get {server}, {nearby}, which other machines hardly reach");
        assert!(added.err.contains(&warning), "{server}: {added:#?}");
        assert!(added.err.contains("--user-server URL"), "{server}: {added:#?}");
        // A public one ends it, and the same as that for users begins it again.
        let update = |url: &str| person.run(["cluster", "update", &id, "--user-server", url]);
        let public = update("https://api.lab.example");
        assert!(!warns(&public.err), "{server}: {public:#?}");
        assert!(warns(&update(server).err), "{server}");
    }
}

#[tokio::test]
async fn an_address_for_users_that_breaks_a_rule_is_refused_by_its_name_and_changes_nothing() {
    let environment = Environment::group("user_server", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "refused");
    let [cluster] = installation.clusters() else { panic!() };
    let (id, person) = (registered(cluster), &installation.person);
    let (empty, key) = (person.write("empty", ""), rcgen::KeyPair::generate().unwrap().serialize_pem());
    let pem = format!("{}{key}", cluster.certificate_authority());
    let (empty, key) = (empty.to_str().unwrap(), person.write("key", &pem));
    let (key, long) = (key.to_str().unwrap(), format!("https://{}.example", "a".repeat(2048)));
    let good = "https://api.example.com";
    let listed = person.run(["cluster", "list", "-o", "json"]).done();
    let cases: [(&[&str], &str); 8] = [
        (&["--user-server", "http://api.example.com"], "userEndpoint.server: must be an https:// URL"),
        (
            &["--user-server", "https://ann:hunter2@api.example.com"],
            "userEndpoint.server: must be an https:// URL",
        ),
        (&["--user-server", "https://"], "userEndpoint.server: must be an https:// URL"),
        (&["--user-server", &long], "userEndpoint.server: must be at most 2048 bytes"),
        (
            &["--user-server", good, "--user-authority", empty],
            "userEndpoint.certificateAuthorityData: must be",
        ),
        (&["--user-server", good, "--user-authority", key], "userEndpoint.certificateAuthorityData: must be"),
        (
            &["--user-server", good, "--user-tls-server-name", "a b"],
            "userEndpoint.tlsServerName: must be a DNS name",
        ),
        (&["--user-server", good, "--user-authority", "/absent"], "/absent can't be read"),
    ];
    for (set, rule) in cases {
        let ran = person.run(["cluster", "update", &id].iter().chain(set));
        assert!(ran.code != 0 && ran.err.contains(rule), "{set:?}: {ran:#?}");
        assert!(!ran.err.contains("hunter2") && !ran.err.contains("PRIVATE"), "{set:?}: {ran:#?}");
    }
    for set in [["--user-authority", key], ["--user-tls-server-name", "kubernetes"]] {
        let ran = person.run(["cluster", "update", &id].iter().chain(&set));
        assert!(ran.code == 2 && ran.err.contains("--user-server"), "{set:?}: {ran:#?}");
    }
    assert_eq!(person.run(["cluster", "list", "-o", "json"]).done(), listed);
}
