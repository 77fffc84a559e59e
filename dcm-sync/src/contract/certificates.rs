//! Promises about CertificateSigningRequests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::port::cluster::{Error, Object, Precondition};
use dcm_core::port::trial::{ClientCredential, Trial};
use dcm_core::secret::Secret;
use rcgen::{CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, KeyPair};
use serde_json::{Value, json};

use super::subject::{Subject, key, kind, must};
use super::watching::Follower;

/// A request for `CN=dcm-contract`. Its private key is nowhere: the certificate is of no use to anybody.
const CSR_PEM: &str = "\
-----BEGIN CERTIFICATE REQUEST-----\n\
MIHpMIGQAgEAMC4xFTATBgNVBAoMDGRjbS1jb250cmFjdDEVMBMGA1UEAwwMZGNt\n\
LWNvbnRyYWN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEhQ3M4Y4c4mvsnbPM\n\
SSPn+FHANf7+kwcamK0ZlGml+U0C4OIZx/m2NSHyUHfnM0IYKF4HwibTYsDexs8E\n\
oeOXdqAAMAoGCCqGSM49BAMCA0gAMEUCIBmJbXEfH20lzXRLUDdQ5HpyEEhMSQbh\n\
JCLAZzGsrLAoAiEA7s5fepwBWyYGFuTfVRo3EFNsx6Qg16Q6L9Ix3e5tWKI=\n\
-----END CERTIFICATE REQUEST-----\n\
";

fn request(subject: &Subject, name: &str) -> Value {
    request_with(subject, name, CSR_PEM)
}

fn request_with(subject: &Subject, name: &str, csr_pem: &str) -> Value {
    json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": subject.name(name)},
        "spec": {
            "request": STANDARD.encode(csr_pem),
            "signerName": "kubernetes.io/kube-apiserver-client",
            "expirationSeconds": 3600,
            "usages": ["client auth"],
        },
    })
}

fn conditions(object: &Object) -> Vec<&str> {
    let conditions = object.body["status"]["conditions"].as_array();
    conditions.into_iter().flatten().filter_map(|condition| condition["type"].as_str()).collect()
}

async fn approve_observed(subject: &Subject, observed: &Object) -> Result<Object, Error> {
    let state =
        Precondition { uid: observed.uid.clone(), resource_version: observed.resource_version.clone() };
    subject.cluster.approve(&subject.call, &observed.key, &state).await
}

/// Approves what is there, again when a controller wrote in between.
async fn approve(subject: &Subject, body: &Value) -> Object {
    subject
        .until("an approval without a conflict", || async {
            match approve_observed(subject, &subject.there(body).await).await {
                Err(Error::Conflict) => None,
                result => Some(must(result, "approve")),
            }
        })
        .await
}

/// After the approval the watch tells of a certificate in the request's status.
pub async fn an_approved_request_gets_its_certificate(subject: &Subject) {
    let body = request(subject, "csr");
    let mut follower = Follower::new(subject, kind(&body)).await;
    let made = subject.create(&body).await;
    assert_eq!(conditions(&made), Vec::<&str>::new());
    let approved = approve(subject, &body).await;
    assert_eq!((&approved.uid, conditions(&approved)), (&made.uid, vec!["Approved"]));
    follower
        .until("the certificate", |known| {
            let object = known.get(&key(&body));
            object.is_some_and(|object| object.body["status"]["certificate"].is_string())
        })
        .await;
    let signed = subject.there(&body).await;
    let certificate = STANDARD.decode(signed.body["status"]["certificate"].as_str().unwrap_or_default());
    let certificate = must(certificate, "the certificate is base64");
    assert!(certificate.starts_with(b"-----BEGIN CERTIFICATE-----"), "it is no PEM");
    subject.delete(&body).await;
}

/// A certificate that the cluster's signer issued is accepted, one of an unknown authority is refused.
pub async fn a_certificate_is_accepted_if_the_cluster_trusts_its_authority(subject: &Subject) {
    let user = must(KeyPair::generate(), "a key");
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "dcm-contract");
    let csr = must(params.serialize_request(&user).and_then(|request| request.pem()), "a request");
    let body = request_with(subject, "csr-tried", &csr);
    subject.create(&body).await;
    approve(subject, &body).await;
    let signed = subject
        .until("the certificate", || async {
            let signed = subject.there(&body).await;
            Some(must(STANDARD.decode(signed.body["status"]["certificate"].as_str()?), "base64"))
        })
        .await;
    let issued = must(String::from_utf8(signed), "PEM");
    assert_eq!(accepts(subject, &issued, &user).await, Trial::Accepted);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let authority = must(KeyPair::generate(), "a key");
    let authority =
        must(CertifiedIssuer::self_signed(CertificateParams::default(), authority), "an authority");
    let foreign = must(params.signed_by(&user, &authority), "a certificate").pem();
    assert_eq!(accepts(subject, &foreign, &user).await, Trial::Refused);
    subject.delete(&body).await;
}

async fn accepts(subject: &Subject, pem: &str, key: &KeyPair) -> Trial {
    let key = Secret::new(key.serialize_pem());
    let credential = ClientCredential::Certificate { pem: pem.into(), key };
    must(subject.cluster.try_credential(&subject.call, &credential).await, "try_credential")
}

/// A request that is approved already stays as it is.
pub async fn approving_again_changes_nothing(subject: &Subject) {
    let body = request(subject, "csr-again");
    subject.create(&body).await;
    approve(subject, &body).await;
    let again = approve(subject, &body).await;
    assert_eq!(conditions(&again), ["Approved"]);
    assert_eq!(conditions(&subject.there(&body).await), ["Approved"]);
    subject.delete(&body).await;
}

/// A request that is not as it was observed is a `Conflict`, one that is gone is `NotFound` or `Conflict`; what is there
/// stays without an approval.
pub async fn approval_needs_the_observed_state(subject: &Subject) {
    let body = request(subject, "csr-state");
    let made = subject.create(&body).await;
    subject.edit(&body, json!({"metadata": {"labels": {"theirs": "a"}}})).await;
    let error = approve_observed(subject, &made).await.err();
    assert!(matches!(error, Some(Error::Conflict)), "{error:?}");
    let there = subject.there(&body).await;
    assert_eq!(conditions(&there), Vec::<&str>::new());
    subject.delete(&body).await;
    let error = approve_observed(subject, &there).await.err();
    assert!(matches!(error, Some(Error::NotFound | Error::Conflict)), "{error:?}");
}
