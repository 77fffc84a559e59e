//! Certificates and keys of many algorithms, at a real API server, and beside the real kubectl.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::pki;
use dcm_core::port::cluster::{Cluster as _, Error};
use dcm_core::secret::Secret;
use dcm_core::subject::Subject;
use dcm_kube::{KubeCluster, Options};
use dcm_testenv::certificates::{Hash, Identity, KeyKind, Serving, Signer};
use dcm_testenv::effort::patience;
use dcm_testenv::{Cluster as Server, Environment, Route};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, ServerConnection};
use serde_json::{Value, json};

use crate::common::{call, kubectl};

const ADMINISTRATORS: &str = "system:masters";

/// The group of the users whose requests are signed.
const TEAM: &str = "team";

fn signer(kind: KeyKind, hash: Hash) -> Signer {
    Signer::generate(kind, hash).unwrap()
}

fn kubeconfig(server: &Server, authority: &str, name: Option<&str>, user: &Identity) -> Value {
    let cluster = json!({
        "server": server.url_by(Route::Direct),
        "certificate-authority-data": STANDARD.encode(authority),
        "tls-server-name": name,
    });
    let user = json!({
        "client-certificate-data": STANDARD.encode(user.certificate()),
        "client-key-data": STANDARD.encode(user.key()),
    });
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "c", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    })
}

/// Asks the cluster through our client, and through kubectl.
async fn reach(server: &Server, kubeconfig: &Value) -> (Result<(), Error>, Result<(), String>) {
    let options = Options { request_time_limit: patience(), ..Options::default() };
    let ours = match KubeCluster::connect(&Secret::new(kubeconfig.to_string()), &options).await {
        Ok(cluster) => cluster.uid(&call("algorithms")).await.map(drop),
        Err(error) => Err(error),
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kubeconfig");
    std::fs::write(&file, kubeconfig.to_string()).unwrap();
    let mut command = std::process::Command::new(server.kubectl().get_program());
    command.env_remove("KUBECONFIG").arg("--kubeconfig").arg(&file);
    let output = command.args(["get", "--raw", "/api/v1/namespaces/kube-system"]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (ours, if output.status.success() { Ok(()) } else { Err(errors) })
}

async fn assert_reached(what: &str, server: &Server, kubeconfig: &Value) {
    let (ours, theirs) = reach(server, kubeconfig).await;
    assert_eq!(theirs, Ok(()), "{what}: kubectl");
    assert!(ours.is_ok(), "{what}: {ours:?}");
}

/// How authorities sign, and the kinds of keys of the servers below them.
fn servers() -> Vec<Serving> {
    use Hash::{Sha256, Sha384, Sha512};
    use KeyKind::{Ed25519, P256, P384, P521, Rsa2048, Rsa3072, Rsa4096};
    let row = |kind: KeyKind, hash: Hash, server: KeyKind| {
        let name = format!("{kind:?}-{hash:?}-{server:?}.invalid").to_lowercase();
        signer(kind, hash).serving(&name, &signer(server, Sha256)).unwrap()
    };
    let pss = |hash: Hash| {
        let name = format!("pss-{hash:?}.invalid").to_lowercase();
        signer(Rsa2048, hash).with_pss().serving(&name, &signer(P256, Sha256)).unwrap()
    };
    vec![
        row(P256, Sha384, P256),
        row(P256, Sha512, P384),
        row(P384, Sha256, P256),
        row(P384, Sha384, P521),
        row(P384, Sha512, P384),
        row(P521, Sha256, P256),
        row(P521, Sha384, Ed25519),
        row(P521, Sha512, P521),
        row(Ed25519, Sha512, Ed25519),
        row(Ed25519, Sha512, Rsa2048),
        row(Rsa2048, Sha256, Rsa3072),
        row(Rsa2048, Sha512, Rsa2048),
        row(Rsa3072, Sha384, Rsa4096),
        row(Rsa4096, Sha512, P521),
        pss(Sha256),
        pss(Sha384),
        pss(Sha512),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_reached_whose_authority_and_key_are_of_any_kind_that_go_verifies() {
    let environment = Environment::builder().start().await.unwrap();
    let server = &environment.clusters()[0];
    let servings = servers();
    server.serve_by_name(&servings).await.unwrap();
    let other = &servings[0].authority;
    for Serving { name, authority, .. } in &servings {
        assert_reached(name, server, &kubeconfig(server, authority, Some(name), server.admin())).await;
        // It is the authority that makes the difference.
        if authority != other {
            let (ours, theirs) = reach(server, &kubeconfig(server, other, Some(name), server.admin())).await;
            assert!(matches!(ours, Err(Error::Unreachable { .. })) && theirs.is_err(), "{name}: {ours:?}");
        }
    }
}

const KINDS: [KeyKind; 7] = [
    KeyKind::P256,
    KeyKind::P384,
    KeyKind::P521,
    KeyKind::Ed25519,
    KeyKind::Rsa2048,
    KeyKind::Rsa3072,
    KeyKind::Rsa4096,
];

#[tokio::test(flavor = "multi_thread")]
async fn a_client_key_of_any_kind_and_form_that_kubectl_takes_is_taken() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    for kind in KINDS {
        let key = signer(kind, Hash::Sha256);
        let issued = server.issue_for("algorithms-admin", &[ADMINISTRATORS], &key).unwrap();
        let bag = "Bag Attributes\n    localKeyID: 01\nKey Attributes: <No Attributes>\n";
        let mut forms = vec![("PKCS #8", key.key()), ("text before", format!("{bag}{}", key.key()))];
        if let Some(older) = key.older_key().unwrap() {
            // As `openssl ecparam -genkey` writes it.
            let parameters =
                ["-----BEGIN EC ", "PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"];
            forms.push(("parameters before", format!("{}{older}", parameters.concat())));
            forms.push(("PKCS #1 or SEC 1", older));
        }
        for (form, key) in forms {
            let text = format!("Certificate:\n    Data:\n        Version: 3 (0x2)\n{}", issued.certificate());
            let user = Identity::new(text, key);
            let kubeconfig = kubeconfig(server, &server.certificate_authority(), None, &user);
            assert_reached(&format!("{kind:?}, {form}"), server, &kubeconfig).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_of_any_kind_is_signed_by_the_cluster_and_its_certificate_is_taken() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let signers = KINDS.into_iter().flat_map(|kind| {
        let hashes = [Hash::Sha256, Hash::Sha384, Hash::Sha512].into_iter();
        // Ed25519 has one hash, and so many RSA keys take long to make.
        let many = matches!(kind, KeyKind::P256 | KeyKind::P384 | KeyKind::P521 | KeyKind::Rsa2048);
        hashes.take(if many { 3 } else { 1 }).map(move |hash| signer(kind, hash))
    });
    let pss = [Hash::Sha256, Hash::Sha512].map(|hash| signer(KeyKind::Rsa2048, hash).with_pss());
    for (index, signer) in signers.chain(pss).enumerate() {
        let name = format!("algorithms-{index}");
        let subject = Subject::new(&name, Some(TEAM)).unwrap();
        let request = signer.request(TEAM, &name).unwrap();
        assert_eq!(pki::check_request(&request, &subject), Ok(()), "{signer:?}");
        let certificate = signed(server, &name, &request);
        let expected = pki::Expected {
            request_pem: &request,
            subject: &subject,
            lifetime_seconds: None,
            now: jiff::Timestamp::now(),
        };
        pki::check_certificate(&certificate, &expected).unwrap_or_else(|error| panic!("{signer:?}: {error}"));
        let user = Identity::new(certificate, signer.key());
        let kubeconfig = kubeconfig(server, &server.certificate_authority(), None, &user);
        let (ours, theirs) = reach(server, &kubeconfig).await;
        // The user is known, and has no rights.
        assert!(matches!(ours, Err(Error::Forbidden { .. })), "{signer:?}: {ours:?}");
        assert!(theirs.unwrap_err().contains(&name), "{signer:?}");
    }
}

/// Has the cluster's signer sign a request, and returns the certificate.
fn signed(server: &Server, name: &str, request: &str) -> String {
    let object = json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {
            "request": STANDARD.encode(request),
            "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["client auth"],
        },
    });
    kubectl(server, &["create", "-f", "-"], &object.to_string());
    kubectl(server, &["certificate", "approve", name], "");
    let wait = format!("--timeout={}s", patience().as_secs());
    kubectl(server, &["wait", "csr", name, "--for=jsonpath={.status.certificate}", &wait], "");
    let encoded = kubectl(server, &["get", "csr", name, "-o", "jsonpath={.status.certificate}"], "");
    String::from_utf8(STANDARD.decode(encoded.trim()).unwrap()).unwrap()
}

#[tokio::test]
async fn keys_that_are_not_supported_are_refused_by_their_names_before_anything_is_sent() {
    let refused = |certificate: String, key: String| async move {
        let identity = Identity::new(certificate, key);
        let user = json!({
            "client-certificate-data": STANDARD.encode(identity.certificate()),
            "client-key-data": STANDARD.encode(identity.key()),
        });
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
            "users": [{"name": "c", "user": user}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        });
        let secret = Secret::new(kubeconfig.to_string());
        KubeCluster::connect(&secret, &Options::default()).await.err().unwrap().to_string()
    };
    let own = signer(KeyKind::P256, Hash::Sha256);
    let certificate = own.serving("own.invalid", &own).unwrap().identity.certificate().to_owned();
    let block = |label: &str| format!("-----BEGIN {label}-----\nMAA=\n-----END {label}-----\n");
    let rows = [
        (
            block("ENCRYPTED PRIVATE KEY"),
            "users[].user.client-key-data: must not be encrypted; write it without",
        ),
        (
            block("DSA PRIVATE KEY"),
            "users[].user.client-key-data: must be in PKCS #8, PKCS #1 or SEC 1, and is a PEM block DSA PRIVATE KEY",
        ),
        (
            block("OPENSSH PRIVATE KEY"),
            "users[].user.client-key-data: must be in PKCS #8, PKCS #1 or SEC 1, and is a PEM block OPENSSH",
        ),
        (
            block("PRIVATE KEY"),
            "users[].user.client-key-data: the key can't be used for TLS: it is damaged, or",
        ),
        (block("PUBLIC KEY"), "users[].user.client-key-data: must be base64 of a private key in PEM"),
    ];
    for (key, reason) in rows {
        let found = refused(certificate.clone(), key).await;
        assert!(found.contains(reason), "{reason}: {found}");
    }
    for (name, certificate) in of_other_kinds() {
        let found = refused(certificate, own.key()).await;
        let reason = format!(
            "users[].user.client-certificate-data: its key is {name}, which is not supported; use ECDSA"
        );
        assert!(found.contains(&reason), "{reason}: {found}");
    }
}

/// Shows a certificate to each client, and signs with another key: what a client looks at first is the certificate.
#[derive(Debug)]
struct Shown(Arc<CertifiedKey>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

/// A server that shows a certificate, and its address. It goes on until the test ends.
fn showing(certificate: &str) -> SocketAddr {
    let key = signer(KeyKind::P256, Hash::Sha256).key();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
    let provider = dcm_tls::provider();
    let shown = CertifiedKey::new(chain, provider.key_provider.load_private_key(key).unwrap());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Shown(Arc::new(shown))));
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut connection = ServerConnection::new(config.clone()).unwrap();
            // A client that leaves is no failure.
            while connection.is_handshaking() && connection.complete_io(&mut stream).is_ok() {}
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_are_not_supported_are_refused_by_the_names_of_their_algorithms() {
    let fixture = include_str!("../../../tls/src/fixtures/refused.pem");
    let end = "-----END CERTIFICATE-----\n";
    let certificates: Vec<_> = fixture.split_inclusive(end).collect();
    for chain in certificates.chunks(2) {
        let [authority, server] = chain else { panic!("an authority without a server") };
        let (name, authority) = authority.split_once('\n').unwrap();
        let (_, reason) = name.split_once(": ").unwrap();
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {
                "server": format!("https://{}", showing(server)),
                "certificate-authority-data": STANDARD.encode(authority),
                "tls-server-name": "server.invalid",
            }}],
            "users": [{"name": "c", "user": {"token": "a"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        });
        let options = Options { request_time_limit: patience(), ..Options::default() };
        let cluster = KubeCluster::connect(&Secret::new(kubeconfig.to_string()), &options).await.unwrap();
        let error = cluster.uid(&call("algorithms")).await.unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        let is_named = cause.starts_with("the server's certificate can't be verified: it")
            && cause.contains(", which is not supported; use ");
        assert!(matches!(error, Error::Unreachable { .. }) && is_named, "{name}: {error}: {cause}");
        assert!(cause.contains(&format!("{reason}, which")), "{name}: {cause}");
    }
}

/// Certificates with keys that are not supported: of each chain below a name that begins so, the second one.
fn of_other_kinds() -> Vec<(&'static str, String)> {
    let fixture = include_str!("../../../tls/src/fixtures/refused.pem");
    let end = "-----END CERTIFICATE-----\n";
    let names = [
        ("leaf-RSA-1024", "RSA of 1024 bits"),
        ("leaf-P-224", "ECDSA P-224"),
        ("leaf-secp256k1", "ECDSA secp256k1"),
        ("leaf-Ed448", "Ed448"),
        ("leaf-DSA", "DSA"),
        ("leaf-RSASSA-PSS", "RSA for RSASSA-PSS alone"),
    ];
    let chain =
        |name: &str| fixture.split_once(&format!("{name}: ")).unwrap().1.split_inclusive(end).nth(1).unwrap();
    names.map(|(name, found)| (found, chain(name).to_owned())).to_vec()
}
