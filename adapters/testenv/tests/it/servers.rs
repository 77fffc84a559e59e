//! The servers of a shared environment do what a client of a real cluster relies on.
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as the tests do")]

use crate::common;

use common::{eventually, output, succeed};
use dcm_testenv::{AuditFilter, Cluster, Environment, Identity, Route, Stage};
use rcgen::{CertificateParams, DnType, KeyPair};

const CLUSTERS: usize = 3;

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
async fn a_shared_environment_with_too_few_clusters_is_an_error_that_says_so() {
    let _environment = Environment::shared(CLUSTERS).await.unwrap();
    let error = Environment::shared(CLUSTERS + 1).await.unwrap_err();
    assert!(error.to_string().contains("started with 3 clusters, and 4 are asked for"), "{error}");
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
