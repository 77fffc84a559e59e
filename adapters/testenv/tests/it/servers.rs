//! The servers of a shared environment do what a client of a real cluster relies on.
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as the tests do")]

use std::collections::BTreeSet;
use std::process::Command;

use crate::common;

use common::{eventually, output, succeed};
use dcm_testenv::{AuditFilter, Cluster, Environment, Identity, Route, Stage};
use rcgen::{CertificateParams, DnType, KeyPair};

const CLUSTERS: usize = 3;

/// Set to `1`, it keeps tests from sharing servers.
const FRESH: &str = "DCM_TESTENV_FRESH";

fn is_fresh() -> bool {
    std::env::var_os(FRESH).is_some_and(|value| value == "1")
}

#[tokio::test]
async fn three_api_servers_answer_the_administrator_through_kubectl() {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    assert_eq!(environment.clusters().len(), CLUSTERS);
    for cluster in environment.clusters() {
        let who = succeed(cluster.kubectl().args(["auth", "whoami", "-o", "jsonpath={.status.userInfo}"]));
        assert!(who.contains(r#""username":"admin""#) && who.contains("system:masters"), "{who}");
        let namespace = format!("only-in-{}", cluster.name());
        succeed(cluster.kubectl().args(["create", "namespace", &namespace]));
    }
    for cluster in environment.clusters() {
        let namespaces = succeed(cluster.kubectl().args(["get", "namespaces", "-o", "name"]));
        let own =
            namespaces.lines().filter(|name| name.starts_with("namespace/only-in-")).collect::<Vec<_>>();
        assert_eq!(own, [format!("namespace/only-in-{}", cluster.name())]);
    }
}

#[tokio::test]
async fn a_certificate_has_the_user_name_and_every_group() {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let cluster = &environment.clusters()[0];
    let identity = cluster.issue("carol", &["builders", "readers", "writers"]).unwrap();
    let kubeconfig = write_kubeconfig(cluster, &identity, "carol");
    let who = succeed(cluster.kubectl().args([
        &kubeconfig,
        "auth",
        "whoami",
        "-o",
        "jsonpath={.status.userInfo.username} {.status.userInfo.groups}",
    ]));
    assert_eq!(who, r#"carol ["builders","readers","writers","system:authenticated"]"#);
}

#[tokio::test]
async fn a_certificate_of_one_cluster_is_refused_by_another() {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let [first, second, ..] = environment.clusters() else { panic!("two clusters are needed") };
    let kubeconfig = write_kubeconfig(second, first.admin(), "foreign");
    let (status, _, errors) = output(second.kubectl().args([&kubeconfig, "get", "namespaces"]));
    assert!(!status.success());
    assert!(errors.contains("Unauthorized") || errors.contains("must be logged in"), "{errors}");
    let refused = second.audit_log().matching(&AuditFilter::new().code(401)).unwrap();
    assert!(!refused.is_empty());
}

#[tokio::test]
async fn an_approved_request_for_a_client_certificate_is_issued_and_works() {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let cluster = &environment.clusters()[1];
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "bob");
    let request = params.serialize_request(&key).unwrap().pem().unwrap();
    apply(cluster, &signing_request("bob", &request));
    succeed(cluster.kubectl().args(["certificate", "approve", "bob"]));
    let certificate = eventually(|| {
        let path = ["get", "csr", "bob", "-o", "jsonpath={.status.certificate}"];
        Some(succeed(cluster.kubectl().args(path))).filter(|text| !text.is_empty())
    });
    let certificate = common::from_base64(&certificate);
    let kubeconfig = write_kubeconfig(cluster, &Identity::new(certificate, key.serialize_pem()), "bob");
    let who = succeed(cluster.kubectl().args([
        &kubeconfig,
        "auth",
        "whoami",
        "-o",
        "jsonpath={.status.userInfo.username}",
    ]));
    assert_eq!(who, "bob");
}

#[tokio::test]
async fn a_deleted_namespace_goes_away_with_what_is_in_it() {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let cluster = &environment.clusters()[2];
    succeed(cluster.kubectl().args(["create", "namespace", "short-lived"]));
    succeed(cluster.kubectl().args(["-n", "short-lived", "create", "configmap", "something"]));
    succeed(cluster.kubectl().args(["delete", "namespace", "short-lived", "--timeout=60s"]));
    let (status, ..) = output(cluster.kubectl().args(["get", "namespace", "short-lived"]));
    assert!(!status.success());
}

#[tokio::test]
async fn what_was_answered_is_in_the_audit_log() {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let cluster = &environment.clusters()[0];
    let position = cluster.audit_log().position().unwrap();
    succeed(cluster.kubectl().args(["create", "namespace", "audited"]));
    succeed(cluster.kubectl().args(["create", "namespace", "audited-dry", "--dry-run=server"]));
    let creation = AuditFilter::new().verb("create").resource("namespaces").stage(Stage::ResponseComplete);
    let log = cluster.audit_log();
    let events = log.events_since(position).unwrap();
    let one = |filter: AuditFilter| {
        let mut found = events.iter().filter(|event| filter.matches(event));
        let event = found.next().unwrap();
        assert_eq!(found.next(), None);
        event
    };
    let event = one(creation.clone().name("audited"));
    assert_eq!((event.user.as_str(), event.code, event.dry_run), ("admin", Some(201), false));
    assert!(event.user_agent.starts_with("kubectl"), "{}", event.user_agent);
    assert!(one(creation.name("audited-dry")).dry_run);
}

#[tokio::test]
async fn each_test_gets_as_many_of_the_shared_clusters_as_it_asks_for_with_proxies_of_its_own() {
    let (few, more) =
        (Environment::shared(1).await.unwrap(), Environment::shared(CLUSTERS + 1).await.unwrap());
    assert_eq!((few.clusters().len(), more.clusters().len()), (1, CLUSTERS + 1));
    assert_eq!(few.clusters()[0].url() == more.clusters()[0].url(), !is_fresh());
    few.clusters()[0].proxy().cut().await.unwrap();
    let cluster = &more.clusters()[0];
    let file = cluster.folder().join("proxy.kubeconfig");
    std::fs::write(&file, cluster.admin_kubeconfig(Route::Proxy)).unwrap();
    let kubeconfig = format!("--kubeconfig={}", file.display());
    succeed(cluster.kubectl().args([&kubeconfig, "get", "--raw", "/readyz"]));
}

#[tokio::test]
async fn a_group_shares_servers_until_none_of_it_has_any() {
    let first = Environment::group("first", 1).await.unwrap();
    let same = Environment::group("first", 1).await.unwrap();
    let other = Environment::group("other", 1).await.unwrap();
    assert_eq!(first.process_ids() == same.process_ids(), !is_fresh());
    assert!(first.process_ids().iter().all(|id| !other.process_ids().contains(id)));
    let folder = first.folder().to_owned();
    drop(first);
    assert_eq!(folder.exists(), !is_fresh());
    drop(same);
    assert!(!folder.exists());
    assert_ne!(Environment::group("first", 1).await.unwrap().folder(), folder);
}

/// The variables can't be changed within a process that has threads, so this program is started again.
#[test]
fn on_demand_each_test_gets_servers_of_its_own() {
    let mut tests = Command::new(std::env::current_exe().unwrap());
    tests.args(["--exact", "servers::tests_that_would_share_servers", "--ignored"]).env(FRESH, "1");
    assert!(succeed(&mut tests).contains("1 passed"));
}

#[tokio::test]
#[ignore = "started by another test, as a process of its own"]
async fn tests_that_would_share_servers() {
    // Without a cluster there is an etcd.
    let shared = [Environment::shared(0).await.unwrap(), Environment::shared(0).await.unwrap()];
    let group = [Environment::group("two", 0).await.unwrap(), Environment::group("two", 0).await.unwrap()];
    let urls: BTreeSet<String> = shared.iter().chain(&group).map(Environment::etcd_url).collect();
    assert_eq!(urls.len(), 4);
}

fn write_kubeconfig(cluster: &Cluster, identity: &Identity, name: &str) -> String {
    let file = cluster.folder().join(format!("{name}.kubeconfig"));
    std::fs::write(&file, cluster.kubeconfig(identity, Route::Direct)).unwrap();
    format!("--kubeconfig={}", file.display())
}

fn apply(cluster: &Cluster, manifest: &str) {
    let file = cluster.folder().join("manifest.yaml");
    std::fs::write(&file, manifest).unwrap();
    succeed(cluster.kubectl().args(["apply", "--server-side", "-f"]).arg(file));
}

fn signing_request(name: &str, request: &str) -> String {
    format!(
        "apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata:\n  name: {name}\nspec:\n  \
         signerName: kubernetes.io/kube-apiserver-client\n  usages: [client auth]\n  request: {}\n",
        common::to_base64(request)
    )
}
