//! OpenSSL verifies the authorities of a logical cloud, each cluster's certificates with any other's files and with no other cloud's, and makes
//! one that is refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use dcm_core::authority::{Authority, Fault, Profile, Refused, Template};
use dcm_core::name::TrustDomain;
use dcm_core::pki::SystemKeys;
use dcm_core::port::key_source::KeyType;
use dcm_core::secret::Secret;
use dcm_core::subject::Subject;
use jiff::Timestamp;
use rcgen::{CertificateParams, Issuer, KeyPair, SanType, date_time_ymd};
use tempfile::TempDir;

/// When everything is made and verified.
const NOW: &str = "2030-01-01T00:00:00Z";

/// The files of the secret `cacerts` of one cluster, and the certificate of a workload that its authority signed.
struct Cluster {
    folder: TempDir,
}

impl Cluster {
    fn new(root: &Authority, domain: &TrustDomain, name: &str, key: KeyType) -> Self {
        let template = Template {
            subject: Subject::new(name, Some("dcm:proj1:lc1")).unwrap(),
            trust_domain: domain.clone(),
            profile: Profile { key, ..Profile::INTERMEDIATE },
        };
        let authority = root.issue(&SystemKeys, &template, NOW.parse().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for (file, content) in authority.ca_certs().files() {
            fs::write(folder.path().join(file), content.expose()).unwrap();
        }
        let pair = KeyPair::from_pem(authority.ca_certs().ca_key.expose()).unwrap();
        let issuer = Issuer::from_ca_cert_pem(authority.certificate(), pair).unwrap();
        let mut workload = CertificateParams::default();
        workload.use_authority_key_identifier_extension = true;
        let id = format!("spiffe://{domain}/ns/shop/sa/web");
        workload.subject_alt_names = vec![SanType::URI(id.try_into().unwrap())];
        (workload.not_before, workload.not_after) = (date_time_ymd(2029, 12, 31), date_time_ymd(2030, 1, 2));
        let certificate = workload.signed_by(&KeyPair::generate().unwrap(), &issuer).unwrap();
        fs::write(folder.path().join("workload.pem"), certificate.pem()).unwrap();
        Self { folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The verification of this cluster's workload by one that has the other's root.
    fn verified_by(&self, other: &Self) -> Result<(), String> {
        verify(&other.file("root-cert.pem"), &self.file("cert-chain.pem"), &self.file("workload.pem"))
    }
}

fn cloud(name: &str, root_key: KeyType, keys: [KeyType; 2]) -> [Cluster; 2] {
    let domain = TrustDomain::new(format!("{name}.proj1")).unwrap();
    let template = Template {
        subject: Subject::new("root", Some(&format!("dcm:proj1:{name}"))).unwrap(),
        trust_domain: domain.clone(),
        profile: Profile { key: root_key, ..Profile::ROOT },
    };
    let root = Authority::create_root(&SystemKeys, &template, NOW.parse().unwrap()).unwrap();
    [("edge-1", keys[0]), ("edge-2", keys[1])]
        .map(|(cluster, key)| Cluster::new(&root, &domain, cluster, key))
}

/// `openssl verify` with strict checks of X.509.
fn verify(root: &Path, chain: &Path, certificate: &Path) -> Result<(), String> {
    let time = NOW.parse::<Timestamp>().unwrap().as_second().to_string();
    let arguments = ["verify", "-x509_strict", "-attime", &time, "-no-CApath", "-no-CAstore", "-CAfile"];
    let output = run(openssl(&arguments).arg(root).arg("-untrusted").arg(chain).arg(certificate));
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

fn openssl(arguments: &[&str]) -> Command {
    let mut command = Command::new("openssl");
    command.args(arguments);
    command
}

fn run(command: &mut Command) -> Output {
    command.output().expect("the program `openssl` is needed: install the package openssl, version 3")
}

/// Directory services name their authorities so. rcgen can't write such a name as that of an issuer.
#[test]
fn a_root_whose_subject_has_an_attribute_twice_is_refused_before_it_issues_anything() {
    let folder = tempfile::tempdir().unwrap();
    let [key, certificate] = ["key.pem", "root.pem"].map(|name| folder.path().join(name));
    let subject = ["-subj", "/DC=example/DC=com/CN=Corp", "-addext", "keyUsage=critical,keyCertSign,cRLSign"];
    let mut make =
        openssl(&["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]);
    let made =
        run(make.args(["-days", "30"]).args(subject).arg("-keyout").arg(&key).arg("-out").arg(&certificate));
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let [key, certificate] = [key, certificate].map(|file| fs::read_to_string(file).unwrap());
    let refused = Authority::new(&certificate, &Secret::new(key)).unwrap_err();
    assert!(matches!(refused, Refused::Certificate { position: 1, fault: Fault::Subject, .. }), "{refused}");
}

#[test]
fn openssl_verifies_workloads_of_all_clusters_of_a_cloud_and_of_no_other() {
    let plain = cloud("lc1", KeyType::EcdsaP256, [KeyType::EcdsaP256, KeyType::Rsa2048]);
    let other = cloud("lc2", KeyType::Rsa3072, [KeyType::EcdsaP256, KeyType::Rsa2048]);
    for clusters in [&plain, &other] {
        for (one, peer) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            assert_eq!(clusters[one].verified_by(&clusters[peer]), Ok(()), "{one} by {peer}");
            let ca = verify(
                &clusters[peer].file("root-cert.pem"),
                &clusters[one].file("cert-chain.pem"),
                &clusters[one].file("ca-cert.pem"),
            );
            assert_eq!(ca, Ok(()), "{one} by {peer}");
        }
    }
    for (one, stranger) in [(&plain[0], &other[0]), (&other[1], &plain[1])] {
        let error = one.verified_by(stranger).unwrap_err();
        assert!(error.contains("self-signed certificate in certificate chain"), "{error}");
    }
}
