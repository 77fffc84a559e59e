//! TLS and client certificates, as curl speaks them.

use std::path::Path;
use std::process::Command;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};
use serde_json::json;

use crate::access::callers::{Guarded, Headers};
use crate::common::server::Server;

/// An authority that issues certificates into a folder.
struct Authority<'a> {
    folder: &'a Path,
    issuer: Issuer<'static, KeyPair>,
}

impl<'a> Authority<'a> {
    fn new(folder: &'a Path, name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        write(&folder.join(format!("{name}.pem")), &certificate.pem());
        Self { folder, issuer: Issuer::new(params, key) }
    }

    fn issue(&self, file: &str, mut params: CertificateParams, usage: ExtendedKeyUsagePurpose) {
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        write(&self.folder.join(format!("{file}.pem")), &certificate.pem());
        write(&self.folder.join(format!("{file}.key")), &key.serialize_pem());
    }

    fn client(&self, file: &str, user: &str, year: i32) {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, user);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(year, 1, 1);
        self.issue(file, params, ExtendedKeyUsagePurpose::ClientAuth);
    }
}

fn write(file: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(file, text).unwrap();
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Certificates of a server and of several people, in a folder.
pub(crate) fn certify(folder: &Path) {
    let (own, other) = (Authority::new(folder, "authority"), Authority::new(folder, "other"));
    let server = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    own.issue("server", server, ExtendedKeyUsagePurpose::ServerAuth);
    own.client("platform", "platform", 2999);
    own.client("nobody", "nobody", 2999);
    own.client("expired", "platform", 2021);
    other.client("foreign", "platform", 2999);
}

/// A server over TLS, in whose folder there are the certificates.
fn serve(tokens: bool) -> (Server, Headers) {
    let guarded = Guarded::new();
    certify(guarded.person.home());
    let mut authentication = json!({"clientCertificates": {"authorities": "authority.pem"}});
    if tokens {
        authentication["tokens"] = json!({"file": "tokens.yaml"});
    }
    guarded.configure(&json!({
        "tls": {"certificate": "server.pem", "key": "server.key"},
        "authentication": authentication,
    }));
    guarded.serve("--listen")
}

/// The status that curl gets from this machine, or none where it gets no answer.
pub(crate) fn curl(server: &Server, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("curl");
    command.current_dir(server.home()).args([
        "-s",
        "-o",
        "/dev/null",
        "-w",
        "%{http_code}",
        "--cacert",
        "authority.pem",
    ]);
    command.args(arguments).arg(format!("https://127.0.0.1:{}/v2/projects", server.address().port()));
    let output = command.output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

fn with(server: &Server, certificate: &str) -> Option<String> {
    let (file, key) = (format!("{certificate}.pem"), format!("{certificate}.key"));
    curl(server, &["--cert", &file, "--key", &key])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_certificate_or_a_token_says_who_asks() {
    let (server, headers) = serve(true);
    assert_eq!(with(&server, "platform").as_deref(), Some("200"));
    assert_eq!(with(&server, "nobody").as_deref(), Some("403"));
    assert_eq!(with(&server, "expired"), None);
    assert_eq!(with(&server, "foreign"), None);
    assert_eq!(curl(&server, &["-H", headers.of("viewer")]).as_deref(), Some("200"));
    assert_eq!(curl(&server, &[]).as_deref(), Some("401"));
    // Who shows both is whom the token is of.
    let both = ["--cert", "platform.pem", "--key", "platform.key", "-H", headers.of("nobody")];
    assert_eq!(curl(&server, &both).as_deref(), Some("403"));
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn where_certificates_are_the_only_way_nobody_connects_without_one() {
    let (server, headers) = serve(false);
    assert_eq!(with(&server, "platform").as_deref(), Some("200"));
    assert_eq!(curl(&server, &["-H", headers.of("platform")]), None);
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_1_2_and_1_3_are_spoken_and_nothing_older() {
    let (server, headers) = serve(true);
    let versions =
        ["--tlsv1.2", "--tlsv1.3"].map(|least| curl(&server, &[least, "-H", headers.of("viewer")]));
    assert_eq!(versions, [Some("200".to_owned()), Some("200".to_owned())]);
    let old =
        ["--tlsv1.0", "--tls-max", "1.1", "--ciphers", "DEFAULT@SECLEVEL=0", "-H", headers.of("viewer")];
    assert_eq!(curl(&server, &old), None);
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_site_gets_nothing_by_the_certificate_of_its_reader() {
    let (server, _) = serve(true);
    let asked_by = |origin: &str| {
        curl(
            &server,
            &["--cert", "platform.pem", "--key", "platform.key", "-H", &format!("Origin: {origin}")],
        )
    };
    assert_eq!(asked_by("https://example.com").as_deref(), Some("403"));
    assert_eq!(asked_by(&format!("https://{}", server.address())).as_deref(), Some("200"));
    server.stop();
}
