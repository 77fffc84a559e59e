//! OpenSSL verifies the authorities of a logical cloud: each cluster's certificates with any other's files, and with no other cloud's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dcm_core::authority::{Authority, Profile};
use dcm_core::name::TrustDomain;
use dcm_core::pki::SystemKeys;
use dcm_core::port::key_source::KeyType;
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
        let now: Timestamp = NOW.parse().unwrap();
        let subject = Subject::new(name, Some("dcm:proj1:lc1")).unwrap();
        let profile = Profile { key, ..Profile::INTERMEDIATE };
        let authority = root.issue(&SystemKeys, &subject, domain, &profile, now).unwrap();
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
    let subject = Subject::new("root", Some(&format!("dcm:proj1:{name}"))).unwrap();
    let profile = Profile { key: root_key, ..Profile::ROOT };
    let root =
        Authority::create_root(&SystemKeys, &subject, &domain, &profile, NOW.parse().unwrap()).unwrap();
    [("edge-1", keys[0]), ("edge-2", keys[1])]
        .map(|(cluster, key)| Cluster::new(&root, &domain, cluster, key))
}

/// `openssl verify` with strict checks of X.509.
fn verify(root: &Path, chain: &Path, certificate: &Path) -> Result<(), String> {
    let time = NOW.parse::<Timestamp>().unwrap().as_second().to_string();
    let output = Command::new("openssl")
        .args(["verify", "-x509_strict", "-attime", &time, "-no-CApath", "-no-CAstore", "-CAfile"])
        .arg(root)
        .arg("-untrusted")
        .arg(chain)
        .arg(certificate)
        .output()
        .expect("the program `openssl` is needed: install the package openssl, version 3");
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
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
