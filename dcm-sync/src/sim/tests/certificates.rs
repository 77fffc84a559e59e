use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::port::cluster::{Cluster as _, Error, LABEL_OWNER, Selection, WatchEvent};
use futures::StreamExt as _;

use super::super::{Fleet, SigningRequest, cluster_id};
use super::*;

const HOUR: Duration = Duration::from_secs(3600);
const CLIENT: &str = "kubernetes.io/kube-apiserver-client";

fn request_for(name: &str, signer: &str, usages: &Value, pem: &str) -> Value {
    json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {"request": STANDARD.encode(pem), "signerName": signer, "usages": usages},
    })
}

fn request(name: &str) -> Value {
    let pem = "-----BEGIN CERTIFICATE REQUEST-----\nbm9uZQ==\n-----END CERTIFICATE REQUEST-----\n";
    request_for(name, CLIENT, &json!(["client auth"]), pem)
}

fn certificate(object: &Object) -> Option<String> {
    let text = object.body["status"]["certificate"].as_str()?;
    Some(String::from_utf8(STANDARD.decode(text).unwrap()).unwrap())
}

#[test]
fn a_certificate_comes_some_time_after_the_approval_and_not_without() {
    let mut lab = Lab::new();
    lab.create(&request("a")).unwrap();
    lab.wait(HOUR);
    assert_eq!(certificate(&lab.get(&request("a")).unwrap()), None);
    let approved = lab.approve(&request("a")).unwrap();
    assert_eq!(certificate(&approved), None);
    lab.wait(Duration::from_millis(4));
    assert_eq!(certificate(&lab.get(&request("a")).unwrap()), None);
    lab.wait(Duration::from_millis(1));
    assert!(certificate(&lab.get(&request("a")).unwrap()).unwrap().contains("BEGIN CERTIFICATE"));
}

#[test]
fn a_request_for_a_signer_that_is_not_there_stays_without_a_certificate() {
    let mut lab = Lab::new();
    let mut body = request("a");
    body["spec"]["signerName"] = "example.com/nobody".into();
    lab.create(&body).unwrap();
    lab.approve(&body).unwrap();
    lab.server.set_signer(None);
    lab.create(&request("b")).unwrap();
    lab.approve(&request("b")).unwrap();
    lab.wait(Duration::from_secs(60));
    assert_eq!(certificate(&lab.get(&body).unwrap()), None);
    assert_eq!(certificate(&lab.get(&request("b")).unwrap()), None);
    lab.server.set_signer(Some(Arc::new(FakeSigner::default())));
    lab.wait(Duration::from_millis(5));
    assert!(certificate(&lab.get(&request("b")).unwrap()).is_some(), "it waited for a signer");
}

#[test]
fn a_signer_refuses_usages_that_are_not_a_clients() {
    let mut lab = Lab::new();
    let mut body = request("a");
    body["spec"]["usages"] = json!(["client auth", "server auth"]);
    lab.create(&body).unwrap();
    lab.approve(&body).unwrap();
    lab.wait(Duration::from_secs(1));
    let refused = lab.get(&body).unwrap();
    assert_eq!(certificate(&refused), None);
    assert_eq!(refused.body["status"]["conditions"][1]["type"], "Failed");
}

#[test]
fn a_denied_request_can_not_be_approved_and_a_request_can_not_be_changed() {
    let mut lab = Lab::new();
    let made = lab.create(&request("a")).unwrap();
    let mut changed = request("a");
    changed["spec"]["expirationSeconds"] = 600.into();
    assert!(matches!(lab.update(&changed), Err(Error::Invalid { .. })));
    deny(&mut lab.server, &made);
    assert!(matches!(lab.approve(&request("a")), Err(Error::Invalid { .. })));
}

/// Denies a request half an hour after the beginning.
fn deny(server: &mut Server, object: &Object) {
    let condition = json!({"type": "Denied", "status": "True", "lastUpdateTime": "2026-01-01T00:30:00Z"});
    server
        .edit_as("admin", &object.kind, &object.key, &json!({"status": {"conditions": [condition]}}))
        .unwrap();
}

#[test]
fn a_lifetime_below_ten_minutes_and_other_texts_than_requests_are_invalid() {
    let mut lab = Lab::new();
    let mut short = request("a");
    short["spec"]["expirationSeconds"] = 599.into();
    let usages = json!(["client auth"]);
    for body in
        [short, request_for("a", CLIENT, &usages, "text"), request_for("a", "no-domain", &usages, "text")]
    {
        assert!(matches!(lab.create(&body), Err(Error::Invalid { .. })));
    }
}

#[test]
fn the_cleaner_looks_hourly_and_removes_what_is_past_its_time() {
    let mut lab = Lab::new();
    lab.wait(HOUR / 2);
    for name in ["pending", "issued", "denied"] {
        lab.create(&request(name)).unwrap();
    }
    lab.approve(&request("issued")).unwrap();
    let denied = lab.get(&request("denied")).unwrap();
    deny(&mut lab.server, &denied);
    let there = |lab: &Lab| ["pending", "issued", "denied"].map(|name| lab.get(&request(name)).is_some());
    lab.wait(HOUR / 2);
    assert_eq!(there(&lab), [true, true, true], "half an hour old");
    lab.wait(HOUR - Duration::from_secs(1));
    assert_eq!(there(&lab), [true, true, true], "past their time, but nobody looks before the full hour");
    lab.wait(Duration::from_secs(1));
    assert_eq!(there(&lab), [true, false, false]);
    lab.wait(22 * HOUR);
    assert_eq!(there(&lab), [true, false, false], "23 and a half hours old");
    lab.wait(HOUR);
    assert_eq!(there(&lab), [false, false, false]);
    assert_eq!(lab.server.next_due(), None, "nothing left to look at");
}

#[tokio::test(start_paused = true)]
async fn a_watch_tells_in_virtual_time_that_the_cleaner_removed_a_request() {
    let clock = TestClock::new();
    let fleet = Fleet::builder(clock).clusters(1).signers(|_| Some(Arc::new(FakeSigner::default()))).build();
    let cluster = fleet.cluster(&cluster_id(1)).unwrap();
    let made = cluster.create(&call(), &stamped(&request("a"))).await.unwrap();
    let selection = Selection { kind: made.kind.clone(), owner: call().owner };
    let mut watch = cluster.watch(&call(), &selection).await.unwrap();
    cluster.approve(&call(), &made.key, &precondition(&made)).await.unwrap();
    let mut told = Vec::new();
    loop {
        match watch.next().await.unwrap().unwrap() {
            WatchEvent::Listed(objects) => assert_eq!(objects.len(), 1),
            event @ (WatchEvent::Listing(_) | WatchEvent::Relisting) => panic!("{event:?}"),
            WatchEvent::Applied(object) => told.push(certificate(&object).is_some()),
            WatchEvent::Deleted(object) => {
                break assert_eq!(object.body["metadata"]["labels"][LABEL_OWNER], "dcm");
            }
        }
    }
    assert_eq!(told, [false, true], "approved, then signed, then removed");
}

#[test]
fn the_fake_signer_says_that_it_signs_nothing() {
    let (csr_pem, now) = ("", TestClock::beginning());
    let signed = super::super::Signer::sign(
        &FakeSigner::default(),
        &SigningRequest { csr_pem, lifetime: None, now, serial: 1 },
    );
    let pem = signed.unwrap();
    let inner = pem.lines().nth(1).unwrap();
    assert!(
        String::from_utf8(STANDARD.decode(inner).unwrap()).unwrap().starts_with("simulated, no certificate")
    );
}

#[cfg(feature = "sim-pki")]
mod with_a_real_authority {
    use rcgen::{CertificateParams, DnType, KeyPair};
    use x509_parser::prelude::{Pem, X509Certificate};

    use super::super::super::Authority;
    use super::*;

    fn csr(name: &str) -> String {
        csr_of(name, &KeyPair::generate().unwrap())
    }

    fn csr_of(name: &str, key: &KeyPair) -> String {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.distinguished_name.push(DnType::OrganizationName, "team");
        params.serialize_request(key).unwrap().pem().unwrap()
    }

    fn lab() -> Lab {
        let mut lab = Lab::new();
        lab.server.set_signer(Some(Arc::new(Authority::new("cluster-1"))));
        lab
    }

    fn issue(lab: &mut Lab, name: &str, seconds: Option<u64>) -> String {
        issue_for(lab, name, seconds, &csr(name))
    }

    fn issue_for(lab: &mut Lab, name: &str, seconds: Option<u64>, csr: &str) -> String {
        let mut body = request_for(name, CLIENT, &json!(["client auth"]), csr);
        body["spec"]["expirationSeconds"] = seconds.into();
        lab.create(&body).unwrap();
        lab.approve(&body).unwrap();
        lab.wait(Duration::from_secs(1));
        certificate(&lab.get(&body).unwrap()).unwrap()
    }

    fn validity(pem: &str, check: impl FnOnce(&X509Certificate<'_>)) -> (i64, i64) {
        let pem = Pem::iter_from_buffer(pem.as_bytes()).next().unwrap().unwrap();
        let certificate = pem.parse_x509().unwrap();
        check(&certificate);
        let validity = certificate.validity();
        (validity.not_before.timestamp(), validity.not_after.timestamp())
    }

    #[test]
    fn requests_of_other_keys_are_signed_as_api_servers_do() {
        let mut lab = lab();
        let algorithms = [
            ("p-384", &rcgen::PKCS_ECDSA_P384_SHA384),
            ("p-521", &rcgen::PKCS_ECDSA_P521_SHA512),
            ("ed25519", &rcgen::PKCS_ED25519),
            ("rsa", &rcgen::PKCS_RSA_SHA512),
        ];
        for (name, algorithm) in algorithms {
            let key = KeyPair::generate_for(algorithm).unwrap();
            let issued = issue_for(&mut lab, name, None, &csr_of(name, &key));
            validity(&issued, |certificate| {
                assert_eq!(certificate.public_key().subject_public_key.data, key.public_key_raw(), "{name}");
                assert_eq!(certificate.subject().to_string(), format!("CN={name}, O=team"));
            });
        }
    }

    #[test]
    fn a_certificate_begins_five_minutes_back_and_lives_as_long_as_asked_up_to_a_year() {
        let mut lab = lab();
        let start = lab.now.as_second();
        let is_client = |certificate: &X509Certificate<'_>| {
            let usage = certificate.extended_key_usage().unwrap().unwrap().value;
            assert!(usage.client_auth && !usage.server_auth && !certificate.is_ca());
            assert_eq!(certificate.subject().to_string(), "CN=short, O=team");
        };
        assert_eq!(validity(&issue(&mut lab, "short", Some(600)), is_client), (start - 300, start + 600));
        let start = lab.now.as_second();
        let year = 365 * 24 * 3600;
        assert_eq!(
            validity(&issue(&mut lab, "long", Some(3 * 31_536_000)), |_| ()),
            (start - 300, start - 300 + year)
        );
        let start = lab.now.as_second();
        assert_eq!(validity(&issue(&mut lab, "any", None), |_| ()), (start - 300, start - 300 + year));
    }

    #[test]
    fn a_cluster_knows_its_own_certificates_while_they_are_valid() {
        let (mut lab, mut other) = (lab(), lab());
        let pem = issue(&mut lab, "alice", Some(600));
        let identity = lab.server.identify_certificate(&pem).unwrap();
        assert_eq!((&*identity.user, identity.groups.contains("team")), ("alice", true));
        assert_eq!(other.server.identify_certificate(&pem), None, "another cluster's authority");
        other.wait(Duration::from_secs(1));
        lab.wait(Duration::from_secs(600));
        assert_eq!(lab.server.identify_certificate(&pem), None, "it has ended");
        assert_eq!(lab.server.identify_certificate("text"), None);
    }

    #[test]
    fn the_authority_is_published_for_kubeconfigs_and_to_each_namespace() {
        let mut lab = lab();
        let ca = lab.server.ca_pem().unwrap();
        assert!(ca.starts_with("-----BEGIN CERTIFICATE-----"));
        lab.create(&namespace("team")).unwrap();
        let is_root = |object: &Object| {
            object.key.namespace.as_deref() == Some("team") && &*object.key.name == "kube-root-ca.crt"
        };
        assert_eq!(lab.server.objects().find(is_root).unwrap().body["data"]["ca.crt"], ca.as_str());
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let mut lab = lab();
        lab.create(&request("a")).unwrap();
        lab.approve(&request("a")).unwrap();
        lab.wait(Duration::from_secs(1));
        let refused = lab.get(&request("a")).unwrap();
        assert_eq!(refused.body["status"]["conditions"][1]["type"], "Failed");
    }
}
