//! How connections are made: how many, and through what. No Kubernetes is needed for this, but for the first.
#![allow(clippy::unwrap_used, reason = "a test says where it failed")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::bombs;
use crate::common::answering::{answer, answering, going_on};
use crate::common::*;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::{Cluster as _, Clusters as _, Error};
use dcm_core::secret::Secret;
use dcm_kube::kubeconfig::Allowed;
use dcm_kube::{KubeCluster, KubeClusters, Kubeconfigs, Options, Proxy, ProxyUrl};
use dcm_testenv::effort::patience;
use dcm_testenv::{Environment, Route};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};

/// Requests at once: what an engine sends to one cluster in a burst.
const BURST: usize = 300;

/// Forwards to an address, and counts its connections.
async fn counting_proxy(target: String) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    tokio::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
            let target = target.clone();
            tokio::spawn(async move {
                let mut server = TcpStream::connect(target).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    (address, count)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_requests_shares_one_connection() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let direct = server.url_by(Route::Direct);
    let (address, count) = counting_proxy(direct.trim_start_matches("https://").to_owned()).await;
    let kubeconfig = server.admin_kubeconfig(Route::Direct).replace(&direct, &format!("https://{address}"));
    let options = Options { request_time_limit: patience(), ..Options::default() };
    let (cluster, call) = (connect(&kubeconfig, &options).await, call("burst"));
    namespace(&cluster, &call, "burst").await;
    let maps: Vec<_> =
        (0..BURST).map(|n| data(&call, "burst", &format!("c{n}"), &json!({"n": "1"}))).collect();
    let made = futures::future::join_all(maps.iter().map(|map| cluster.create(&call, map))).await;
    assert!(made.iter().all(Result::is_ok), "{:?}", made.iter().find(|made| made.is_err()));
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kubeconfig_that_costs_more_than_its_size_is_refused_before_anything_is_sent() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let direct = server.url_by(Route::Direct);
    let (address, count) = counting_proxy(direct.trim_start_matches("https://").to_owned()).await;
    let kubeconfig = server.admin_kubeconfig(Route::Direct).replace(&direct, &format!("https://{address}"));
    let options = Options { allowed: Allowed::everything(), ..Options::default() };
    connect(&kubeconfig, &options).await;
    for (name, text, limit) in bombs::small(&kubeconfig) {
        let refused = KubeCluster::connect(&Secret::new(text), &options).await.err();
        let Some(Error::Kubeconfig { reason }) = refused else { panic!("{name}: {refused:?}") };
        assert!(
            reason.starts_with("line ") && reason.ends_with(&format!(": it {limit}")),
            "{name}: {reason}"
        );
    }
    for (name, text, _) in bombs::large(&kubeconfig) {
        let refused = KubeCluster::connect(&Secret::new(text), &options).await.err();
        let Some(Error::Kubeconfig { reason }) = refused else { panic!("{name}: {refused:?}") };
        assert_eq!(reason, "it is larger than 262144 bytes", "{name}");
    }
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

/// A kubeconfig without a credential for a server without TLS, and this more about the cluster.
fn plain(server: &str, more: &str) -> String {
    format!(
        "current-context: c\ncontexts: [{{name: c, context: {{cluster: c}}}}]\n\
         clusters: [{{name: c, cluster: {{server: '{server}'{more}}}}}]\n"
    )
}

fn insecure() -> Options {
    Options { allowed: Allowed { insecure: true, proxy: true, ..Allowed::default() }, ..Options::default() }
}

/// Set for the process that [`proxies_of_the_environment_are_not_used`] starts.
const CHILD: &str = "DCM_KUBE_TEST_CHILD";

#[tokio::test]
async fn proxies_of_the_environment_are_not_used() {
    if std::env::var_os(CHILD).is_none() {
        // The environment of a process can't be changed safely, so the test runs again in one of its own.
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "connections::proxies_of_the_environment_are_not_used"]).env(CHILD, "1");
        for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
            command.env(name, "http://127.0.0.1:9");
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let (address, mut seen) = answering(answer(200, r#"{"metadata": {"uid": "u"}}"#)).await;
    let cluster = connect(&plain(&format!("http://{address}"), ""), &insecure()).await;
    assert_eq!(&*cluster.uid(&call("c")).await.unwrap().0, "u");
    assert_eq!(seen.recv().await.unwrap().line(), "GET /api/v1/namespaces/kube-system HTTP/1.1");
}

#[tokio::test]
async fn a_proxy_that_is_named_is_used() {
    let server = "https://cluster.invalid:6443";
    let (address, mut seen) = answering(answer(502, "")).await;
    let by_kubeconfig = plain(server, &format!(", proxy-url: 'http://{address}'"));
    let of_options = Options {
        proxy: Proxy::Url(ProxyUrl::new(&format!("http://{address}")).unwrap()),
        ..Options::default()
    };
    for (kubeconfig, options) in [(by_kubeconfig, insecure()), (plain(server, ""), of_options)] {
        let error = connect(&kubeconfig, &options).await.uid(&call("c")).await.unwrap_err();
        assert!(matches!(error, Error::Unreachable { .. }), "{error}");
        assert_eq!(seen.recv().await.unwrap().line(), "CONNECT cluster.invalid:6443 HTTP/1.1");
    }
}

#[tokio::test]
async fn a_failure_is_told_once_and_not_tried_again() {
    let (address, mut seen) = answering(answer(503, "busy")).await;
    let cluster = connect(&plain(&format!("http://{address}"), ""), &insecure()).await;
    let error = cluster.uid(&call("c")).await.unwrap_err();
    let expected = "the cluster failed with 503: the answer is no status of Kubernetes";
    assert_eq!(error.to_string(), expected, "what such a server answers is not passed on");
    seen.recv().await.unwrap();
    assert!(seen.try_recv().is_err(), "it was tried again");
}

#[tokio::test]
async fn an_answer_is_read_only_as_far_as_one_of_its_kind_can_go() {
    for (code, expected) in [
        (503, "the cluster failed with 503: the answer is no status of Kubernetes"),
        (403, "not allowed: the answer is no status of Kubernetes"),
        (200, "not supported: an answer of more than 16777216 bytes"),
    ] {
        let cluster = connect(&plain(&format!("http://{}", going_on(code).await), ""), &insecure()).await;
        assert_eq!(cluster.uid(&call("c")).await.unwrap_err().to_string(), expected);
    }
}

/// The same options, with which no connection goes to some networks.
fn denying(networks: &[&str]) -> Options {
    Options { denied_networks: networks.iter().map(|text| text.parse().unwrap()).collect(), ..insecure() }
}

#[tokio::test]
async fn no_connection_goes_to_a_denied_network_by_an_address_or_by_a_name() {
    let (address, mut seen) = answering(answer(200, r#"{"metadata": {"uid": "u"}}"#)).await;
    let port = address.rsplit_once(':').unwrap().1;
    let loopback = denying(&["127.0.0.0/8", "::1/128"]);
    let proxied = |server: &str| plain(server, &format!(", proxy-url: 'http://{address}'"));
    for (kubeconfig, options, network) in [
        (plain(&format!("http://{address}"), ""), &loopback, "127.0.0.0/8"),
        (plain(&format!("http://localhost:{port}"), ""), &loopback, ""),
        (plain(&format!("http://[::ffff:127.0.0.1]:{port}"), ""), &loopback, "127.0.0.0/8"),
        (proxied("https://cluster.invalid:6443"), &loopback, "127.0.0.0/8"),
        (plain("https://169.254.169.254", ""), &insecure(), "169.254.0.0/16"),
        (proxied("https://169.254.169.254"), &insecure(), "169.254.0.0/16"),
        (plain("https://[fe80::1]:6443", ""), &insecure(), "fe80::/10"),
    ] {
        let error = connect(&kubeconfig, options).await.uid(&call("c")).await.unwrap_err();
        assert!(matches!(error, Error::Kubeconfig { .. }), "{kubeconfig}: {error:?}");
        let error = error.to_string();
        let expected = format!("clusters[].cluster.server: the address is in {network}");
        assert!(error.contains(&expected) && error.contains("deniedNetworks"), "{kubeconfig}: {error}");
    }
    assert!(seen.try_recv().is_err(), "the server was asked");
    let allowed = connect(&plain(&format!("http://{address}"), ""), &denying(&["10.0.0.0/8"])).await;
    assert_eq!(&*allowed.uid(&call("c")).await.unwrap().0, "u");
}

#[tokio::test]
async fn a_page_that_stays_too_large_however_few_objects_are_asked_for_is_an_error() {
    let filler = "x".repeat(17 * 1024 * 1024);
    let page = json!({"metadata": {"resourceVersion": "5"}, "items": [], "filler": filler}).to_string();
    let (address, mut seen) = answering(answer(200, &page)).await;
    let cluster = connect(&plain(&format!("http://{address}"), ""), &insecure()).await;
    let call = call("c");
    let error = cluster.watch(&call, &selection(&call, &config_map())).await.err().unwrap();
    let expected = "not supported: a list with one v1 ConfigMap of more than 16777216 bytes";
    assert_eq!(error.to_string(), expected);
    for limit in ["limit=500&", "limit=1&"] {
        let asked = seen.recv().await.unwrap();
        assert!(asked.line().contains(limit), "{}", asked.line());
    }
}

#[tokio::test]
async fn what_is_no_api_server_is_told_as_such() {
    for (code, body) in [(200, "<html>"), (200, "{}"), (302, ""), (200, "")] {
        let (address, _seen) = answering(answer(code, body)).await;
        let cluster = connect(&plain(&format!("http://{address}"), ""), &insecure()).await;
        let error = cluster.uid(&call("c")).await.unwrap_err();
        assert!(matches!(error, Error::Server { .. }), "{code} {body}: {error}");
    }
}

#[tokio::test]
async fn what_can_not_be_used_for_tls_is_refused_by_place() {
    let identity = || {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::default().self_signed(&key).unwrap();
        (STANDARD.encode(certificate.pem()), STANDARD.encode(key.serialize_pem()))
    };
    let ((certificate, key), (_, other)) = (identity(), identity());
    let certificates = "[].user.client-certificate-data: must be base64 of certificates in PEM";
    let broken = STANDARD.encode(pem("CERTIFICATE"));
    for (user, expected) in [
        (
            format!("client-certificate-data: hunter2!, client-key-data: {key}"),
            "[0].user.client-certificate-data: must be base64, in one line or broken by line breaks alone",
        ),
        (format!("client-certificate-data: aGk=, client-key-data: {key}"), certificates),
        (format!("client-certificate-data: {broken}, client-key-data: {key}"), certificates),
        (
            format!("client-certificate-data: {certificate}, client-key-data: hunter2!"),
            "[0].user.client-key-data: must be base64, in one line or broken by line breaks alone",
        ),
        (
            format!("client-certificate-data: {certificate}, client-key-data: {certificate}"),
            "[].user.client-key-data: must be base64 of a private key in PEM",
        ),
        (
            format!(
                "client-certificate-data: {certificate}, client-key-data: {}",
                STANDARD.encode(pem("PRIVATE KEY"))
            ),
            "[].user.client-key-data: the key can't be used for TLS: it is damaged, or is none of ECDSA P-256, P-384 or P-521, Ed25519, or \
             RSA of 2048 to 8192 bits",
        ),
        (
            format!("client-certificate-data: {certificate}, client-key-data: {other}"),
            "[].user.client-key-data: must be the key of client-certificate-data",
        ),
        (
            format!("client-certificate-data: {certificate}"),
            "[0].user.client-key-data: must be set beside the certificate",
        ),
    ] {
        let said = refusal(&format!("users: [{{name: u, user: {{{user}}}}}]"), "").await;
        assert_eq!(said, format!("unusable kubeconfig: users{expected}"));
    }
}

#[tokio::test]
async fn authorities_that_are_none_are_refused_by_place() {
    let certificates = "[].cluster.certificate-authority-data: must be base64 of certificates in PEM";
    for (authority, expected) in [
        (
            "hunter2!",
            "[0].cluster.certificate-authority-data: must be base64, in one line or broken by line breaks alone",
        ),
        ("aGk=", certificates),
        (&STANDARD.encode(pem("CERTIFICATE")), certificates),
        (&STANDARD.encode(pem("PRIVATE KEY")), certificates),
    ] {
        let cluster = format!(", certificate-authority-data: '{authority}'");
        let said = refusal("users: [{name: u, user: {}}]", &cluster).await;
        assert_eq!(said, format!("unusable kubeconfig: clusters{expected}"));
    }
}

/// A block of PEM with nothing sensible in it.
fn pem(label: &str) -> String {
    format!("-----BEGIN {label}-----\naHVudGVyMg==\n-----END {label}-----\n")
}

/// How a kubeconfig with these users and this in its cluster is refused.
async fn refusal(users: &str, cluster: &str) -> String {
    let kubeconfig = format!(
        "current-context: c\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
         clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:1'{cluster}}}}}]\n{users}\n"
    );
    let error = KubeCluster::connect(&Secret::new(kubeconfig), &Options::default()).await.err().unwrap();
    let shown = format!("{error:?} {error:#?}");
    assert!(!shown.contains("hunter2") && !shown.contains("aHVudGVyMg"), "{shown}");
    error.to_string()
}

/// Counts how often it is asked, and knows one cluster.
struct Counting(AtomicUsize);

#[async_trait]
impl Kubeconfigs for Counting {
    async fn kubeconfig(&self, cluster: &ClusterId) -> Result<Secret, Error> {
        self.0.fetch_add(1, Ordering::Relaxed);
        if cluster.to_string() == "p/known" {
            Ok(Secret::new(plain("https://127.0.0.1:1", "")))
        } else {
            Err(Error::Kubeconfig { reason: "there is none".into() })
        }
    }
}

#[tokio::test]
async fn a_kubeconfig_is_asked_for_at_every_connect() {
    let kubeconfigs = Arc::new(Counting(AtomicUsize::new(0)));
    let clusters = KubeClusters::new(kubeconfigs.clone(), Options::default());
    let known = "p/known".parse().unwrap();
    for _ in 0..2 {
        let cluster = clusters.connect(&known).await.unwrap();
        let error = cluster.uid(&call("c")).await.unwrap_err();
        assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    }
    assert_eq!(kubeconfigs.0.load(Ordering::Relaxed), 2);
    let error = clusters.connect(&"p/other".parse().unwrap()).await.err().unwrap();
    assert!(matches!(error, Error::Kubeconfig { .. }), "{error}");
}
