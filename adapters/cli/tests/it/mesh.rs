//! The authorities of service meshes on real API servers: OpenSSL verifies what each cluster gets.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::logical_cloud::DNS_IMAGE;
use dcm_testenv::{Cluster, CoreDns, Environment};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::confined::Confined;
use crate::common::installation::{Installation, kubectl, registered};
use crate::common::{Ran, guard};

const CLUSTERS: usize = 3;

/// The files of the secret `cacerts` of a cluster.
struct CaCerts {
    folder: TempDir,
}

impl CaCerts {
    fn of(cluster: &Cluster, namespace: &str) -> Self {
        let secret = kubectl(cluster, &["get", "secret", "cacerts", "-n", namespace, "-o", "json"]);
        let secret: Value = serde_json::from_str(&secret).unwrap();
        let data: BTreeMap<String, String> = serde_json::from_value(secret["data"].clone()).unwrap();
        assert_eq!(
            data.keys().collect::<Vec<_>>(),
            ["ca-cert.pem", "ca-key.pem", "cert-chain.pem", "root-cert.pem"]
        );
        let folder = tempfile::tempdir().unwrap();
        for (name, file) in data {
            fs::write(folder.path().join(name), STANDARD.decode(file).unwrap()).unwrap();
        }
        Self { folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }

    /// Signs the certificate of a workload.
    fn sign(&self, workload: &str) -> PathBuf {
        let [key, request, extensions, certificate] =
            ["key", "csr", "ext", "crt"].map(|end| self.file(&format!("workload.{end}")));
        let id = format!(
            "subjectAltName=critical,URI:spiffe://{workload}\nkeyUsage=critical,digitalSignature\nauthorityKeyIdentifier=keyid\n"
        );
        fs::write(&extensions, id).unwrap();
        let mut asking =
            openssl(&["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]);
        done(asking.args(["-subj", "/O=workload"]).arg("-keyout").arg(key).arg("-out").arg(&request));
        let mut signing = openssl(&["x509", "-req", "-days", "1", "-CAcreateserial", "-in"]);
        signing
            .arg(request)
            .arg("-CA")
            .arg(self.file("ca-cert.pem"))
            .arg("-CAkey")
            .arg(self.file("ca-key.pem"));
        done(signing.arg("-extfile").arg(extensions).arg("-out").arg(&certificate));
        certificate
    }

    /// Whether a workload that trusts these roots accepts a certificate with the chain that its peer sends.
    fn accepts(&self, certificate: &Path, chain: &Path) -> bool {
        let mut verifying = openssl(&["verify", "-x509_strict", "-no-CApath", "-no-CAstore", "-CAfile"]);
        verifying.arg(self.file("root-cert.pem")).arg("-untrusted").arg(chain).arg(certificate);
        run(&mut verifying).status.success()
    }
}

fn openssl(arguments: &[&str]) -> Command {
    let mut command = Command::new("openssl");
    command.args(arguments);
    command
}

fn run(command: &mut Command) -> Output {
    command.output().expect("the program `openssl` is needed: install the package openssl, version 3")
}

fn done(command: &mut Command) {
    let output = run(command);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn workloads_of_one_mesh_verify_each_other_on_all_clusters_and_none_of_another_mesh() {
    let environment = Environment::group("mesh", CLUSTERS).await.unwrap();
    let installation = Installation::confined(&environment, "mesh", Confined::Mesh);
    let without_names = |key: &str| json!({"key": key, "dns": {"enabled": false}});
    let documents =
        [("woven", without_names("ecdsa-p256")), ("knit", without_names("rsa-2048"))].map(|(name, mesh)| {
            installation.document(name, json!({"users": [{"name": "ann"}], "serviceMesh": mesh}))
        });
    let planned = installation.person.run_with_input(&["plan", "-f", "-"], &documents[0].to_string());
    for shown in ["Namespace istio-woven", "Secret istio-woven/cacerts"] {
        assert!(planned.out.contains(shown), "{planned:#?}");
    }
    for document in &documents {
        installation.apply(document).done();
    }
    let of = |namespace: &str| -> Vec<CaCerts> {
        installation.clusters().iter().map(|cluster| CaCerts::of(cluster, namespace)).collect()
    };
    let (woven, knit) = (of("istio-woven"), of("istio-knit"));
    for (index, (cluster, certs)) in installation.clusters().iter().zip(&woven).enumerate() {
        assert!(certs.accepts(&certs.file("ca-cert.pem"), &certs.file("ca-cert.pem")));
        let workload = certs.sign("woven.default/ns/woven/sa/web");
        for (peer, other) in woven.iter().enumerate() {
            assert!(other.accepts(&workload, &certs.file("cert-chain.pem")), "{index} at {peer}");
        }
        assert!(!knit[index].accepts(&workload, &certs.file("cert-chain.pem")));
        let network = [
            "get",
            "namespace",
            "istio-woven",
            "-o",
            "jsonpath={.metadata.labels.topology\\.istio\\.io/network}",
        ];
        assert_eq!(kubectl(cluster, &network), format!("real.{}", cluster.name()));
    }
    assert_ne!(woven[0].text("ca-key.pem"), woven[1].text("ca-key.pem"));
    shows_certificates_and_no_key(&installation, &woven);

    let again = installation.apply(&documents[0]);
    assert!(again.err.contains("woven: unchanged"), "{again:#?}");
    assert_eq!(of("istio-woven")[0].text("ca-key.pem"), woven[0].text("ca-key.pem"));
    for cloud in ["woven", "knit"] {
        installation.terminate(cloud).done();
        for cluster in installation.clusters() {
            let left = ["get", "namespace", &format!("istio-{cloud}"), "--ignore-not-found", "-o", "name"];
            assert_eq!(kubectl(cluster, &left), "");
        }
    }
}

/// The Corefile of the clusters, as far as it matters here.
const COREFILE: &str =
    ".:53 {\n    errors\n    hosts {\n        192.0.2.1 outside.example\n    }\n    cache 30\n}\n";

fn data(cluster: &Cluster, namespace: &str) -> BTreeMap<String, String> {
    let map = kubectl(cluster, &["get", "configmap", "coredns", "-n", namespace, "-o", "json"]);
    let map: Value = serde_json::from_str(&map).unwrap();
    serde_json::from_value(map["data"].clone()).unwrap()
}

#[tokio::test]
async fn names_of_a_mesh_resolve_through_the_dns_of_each_cluster_and_leave_no_trace() {
    let environment = Environment::group("mesh", CLUSTERS).await.unwrap();
    let installation = Installation::confined(&environment, "named", Confined::Mesh);
    let literal = format!("--from-literal=Corefile={COREFILE}");
    for cluster in installation.clusters() {
        kubectl(cluster, &["create", "configmap", "coredns", "-n", "kube-system", &literal]);
    }
    let mut document = installation.document("named", json!({"serviceMesh": {}}));
    for (index, reference) in document["spec"]["clusters"].as_array_mut().unwrap().iter_mut().enumerate() {
        reference["loadBalancer"] = format!("192.0.2.{}", 10 + index).into();
        reference["name"] = format!("edge-{index}").into();
    }
    let planned = installation.person.run_with_input(&["plan", "-f", "-"], &document.to_string());
    assert!(planned.out.contains("Deployment.apps istio-named/coredns"), "{planned:#?}");
    // No controller looks at Deployments here.
    installation.apply_within("10s", &document);
    let status = json!({"status": {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2, "observedGeneration": 1}});
    for cluster in installation.clusters() {
        let patch = [
            "patch",
            "deployment",
            "coredns",
            "-n",
            "istio-named",
            "--subresource=status",
            "--type=merge",
            "-p",
        ];
        kubectl(cluster, &[&patch[..], &[&status.to_string()]].concat());
    }
    installation.apply(&document).done();
    for cluster in installation.clusters() {
        let address = kubectl(
            cluster,
            &["get", "service", "coredns", "-n", "istio-named", "-o", "jsonpath={.spec.clusterIP}"],
        );
        let (own, edited) = (data(cluster, "istio-named"), data(cluster, "kube-system"));
        let text = &edited["Corefile"];
        assert!(text.ends_with(COREFILE) && text.contains(&format!("forward . {address}:53")), "{text}");
        resolves(&own, text, &address).await;
    }
    installation.terminate("named").done();
    for cluster in installation.clusters() {
        let only = BTreeMap::from([("Corefile".to_owned(), COREFILE.to_owned())]);
        assert_eq!(data(cluster, "kube-system"), only);
        assert_eq!(
            kubectl(cluster, &["get", "namespace", "istio-named", "--ignore-not-found", "-o", "name"]),
            ""
        );
    }
    the_guard_lets_the_corefile_alone_be_changed(&installation.clusters()[0]);
}

#[test]
fn the_default_image_has_the_version_of_coredns_that_tests_run() {
    let (_, version) = DNS_IMAGE.split_once(':').unwrap();
    let module = include_str!("../../../testenv/servers/coredns/go.mod");
    assert!(module.contains(&format!("github.com/coredns/coredns v{version}\n")), "{DNS_IMAGE}: {module}");
}

/// Dry runs of changes of the ConfigMap, by a user with the rights of the engine.
fn the_guard_lets_the_corefile_alone_be_changed(cluster: &Cluster) {
    for (patch, is_allowed) in [
        (json!({"data": {"Corefile": "."}}), true),
        (json!({"data": {"other": "x"}}), false),
        (json!({"data": {"Corefile": null}}), false),
        (json!({"metadata": {"labels": {"a": "b"}}}), false),
        (json!({"metadata": {"annotations": {"a": "b"}}}), false),
        (json!({"binaryData": {"a": "eA=="}}), false),
        (json!({"immutable": true}), false),
        (json!({"metadata": {"finalizers": ["example.com/f"]}}), false),
    ] {
        let patch = patch.to_string();
        let mut command = cluster.kubectl();
        command.args(["patch", "configmap", "coredns", "-n", "kube-system", "--type", "merge", "-p", &patch]);
        command.args(["--dry-run=server", "--as", "any-user", "--as-group", "dcm-mesh"]);
        let ran = Ran::of(command.output().unwrap());
        assert_eq!(ran.code == 0, is_allowed, "{patch}: {ran:?}");
        assert!(is_allowed || ran.err.contains(guard::REFUSAL), "{patch}: {ran:?}");
    }
}

/// Runs both Corefiles: names of the zone come through the stub, and all others as before.
async fn resolves(own: &BTreeMap<String, String>, edited: &str, address: &str) {
    let folder = tempfile::tempdir().unwrap();
    let zone = folder.path().join("zone");
    fs::write(&zone, &own["zone"]).unwrap();
    // Plugins with ports of their own are not built for tests.
    let has_port =
        |line: &&str| line.trim_start().starts_with("health") || line.trim_start().starts_with("ready");
    let own: String =
        own["Corefile"].lines().filter(|line| !has_port(line)).map(|line| format!("{line}\n")).collect();
    let own = own.replace("/etc/coredns/zone", zone.to_str().unwrap());
    let of_mesh = CoreDns::start(|port| own.replace(":1053", &format!(":{port}"))).await.unwrap();
    let edited = edited.replace(&format!("{address}:53"), &of_mesh.address().to_string());
    let of_cluster = CoreDns::start(|port| edited.replace(":53 {", &format!(":{port} {{"))).await.unwrap();
    for (name, expected) in [
        ("gateway.edge-0.named.default.mesh.internal", Some("192.0.2.10")),
        ("gateway.edge-2.named.default.mesh.internal", Some("192.0.2.12")),
        ("gateway.edge-9.named.default.mesh.internal", None),
        ("outside.example", Some("192.0.2.1")),
    ] {
        let expected = expected.map(|address| vec![address.parse().unwrap()]);
        assert_eq!(of_cluster.resolve(name).await.unwrap(), expected, "{name}");
    }
}

/// The files of a person, with those of the store.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// What `dcm` prints and stores of a mesh.
fn shows_certificates_and_no_key(installation: &Installation<'_>, woven: &[CaCerts]) {
    let ca = |more: &[&str]| -> Ran { installation.person.run([&["ca", "status", "woven"], more].concat()) };
    let mesh: Value = serde_json::from_str(&ca(&["-o", "json"]).done()).unwrap();
    assert_eq!(mesh["trustDomain"], "woven.default");
    assert_eq!(mesh["root"]["certificate"], woven[0].text("root-cert.pem"));
    let table = ca(&[]).done();
    for (cluster, certs) in installation.clusters().iter().zip(woven) {
        let shown = &mesh["clusters"][registered(cluster)];
        assert_eq!(shown["certificate"], certs.text("ca-cert.pem"));
        assert!(table.contains(&shown["facts"]["fingerprintSha256"].as_str().unwrap()[..16]), "{table}");
        let key = certs.text("ca-key.pem");
        let line = key.lines().nth(1).unwrap();
        for arguments in [
            &["get", "woven", "-o", "json"][..],
            &["status", "woven", "-o", "json"],
            &["audit", "-o", "json"],
        ] {
            assert!(!installation.person.run(arguments).done().contains(line), "{arguments:?}");
        }
        assert!(!mesh.to_string().contains(line));
        for file in files_below(installation.person.home()) {
            let bytes = fs::read(&file).unwrap();
            let is_there = bytes.windows(line.len()).any(|window| window == line.as_bytes());
            assert!(!is_there, "a private key is in clear in {}", file.display());
        }
    }
}
