//! The authorities of service meshes on real API servers: OpenSSL verifies what each cluster gets.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_testenv::{Cluster, Environment};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::Ran;
use crate::common::confined::Confined;
use crate::common::installation::{Installation, kubectl, registered};

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
    let documents = [("woven", json!({})), ("knit", json!({"key": "rsa-2048"}))].map(|(name, mesh)| {
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
