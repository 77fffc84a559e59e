//! Requests for certificates that another client made in our name.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::port::cluster::{LABEL_CONTEXT, LABEL_OWNER};
use dcm_testenv::{Cluster, Environment};
use serde_json::{Value, json};

use crate::attacks::attacker::Attacker;
use crate::attacks::environment;
use crate::common::installation::{Installation, Worker, kubectl, registered, timeout, until};

const SIGNER: &str = "kubernetes.io/kube-apiserver-client";

/// What every kubelet and every bootstrap token may do by default.
fn may_ask() -> Value {
    json!([{"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"],
            "verbs": ["create", "get"]}])
}

fn spec() -> Value {
    json!({
        "users": [{"name": "ann"}],
        "permissions": [{"name": "look", "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    })
}

/// How far the user's newest request is on a cluster.
fn request(installation: &Installation<'_>, cloud: &str, cluster: &Cluster) -> Value {
    installation.lane(cloud, cluster)["requests"][0].take()
}

/// A request for a certificate of this common name, under a name and with the marks of an installation.
fn forged(name: &str, context: &str, common_name: &str) -> Value {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut asked = rcgen::CertificateParams::default();
    asked.distinguished_name.push(rcgen::DnType::CommonName, common_name);
    let pem = asked.serialize_request(&key).unwrap().pem().unwrap();
    json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name, "labels": {LABEL_OWNER: "dcm", LABEL_CONTEXT: context}},
        "spec": {
            "request": STANDARD.encode(pem),
            "signerName": SIGNER,
            "usages": ["digital signature", "client auth"],
        },
    })
}

/// What the API server shows of a request's answer: its conditions, and whether it has a certificate.
fn answer(cluster: &Cluster, name: &str) -> String {
    let path = "jsonpath={.status.conditions[*].type} {.status.certificate}";
    kubectl(cluster, &["get", "csr", name, "-o", path]).trim().to_owned()
}

/// A cloud whose next request has a name and is not sent yet, as its cluster is stopped.
struct Pending<'a> {
    installation: Installation<'a>,
    worker: Worker,
    cluster: &'a Cluster,
    cloud: &'static str,
    name: String,
    context: String,
}

impl<'a> Pending<'a> {
    async fn new(environment: &'a Environment, cloud: &'static str) -> Self {
        let installation = Installation::new(environment, cloud);
        let cluster = &environment.clusters()[0];
        let document = installation.document(cloud, spec());
        let worker = installation.served(&document).await;
        installation.apply(&document).done();
        let path = "jsonpath={.metadata.labels.dcm\\.internal/context}";
        let context = kubectl(cluster, &["get", "namespace", cloud, "-o", path]);
        installation.person.run(["cluster", "stop", &registered(cluster)]).done();
        installation.person.run(["renew", cloud, "--user", "ann", "--no-wait"]).done();
        let name = request(&installation, cloud, cluster)["object"]["name"].as_str().unwrap().to_owned();
        Self { installation, worker, cluster, cloud, name, context }
    }

    fn resume(&self) {
        self.installation.person.run(["cluster", "resume", &registered(self.cluster)]).done();
    }

    fn kubeconfig(&self) -> String {
        self.installation.person.run(["kubeconfig", self.cloud, "--user", "ann"]).done()
    }

    /// Waits until the request is found to be another client's.
    async fn is_foreign(&self) -> Value {
        until("the reason of the request", async || {
            let request = request(&self.installation, self.cloud, self.cluster);
            (request["cause"]["reason"] == "foreign").then_some(request)
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_of_our_name_and_with_our_marks_for_another_subject_is_never_approved() {
    let environment = environment().await;
    let pending = Pending::new(&environment, "forged-subject").await;
    let attacker = Attacker::new(&environment, pending.cluster, "forged-subject-attacker", &may_ask());
    attacker.create(&forged(&pending.name, &pending.context, "system:kube-controller-manager"));
    pending.resume();
    let state = pending.is_foreign().await;
    assert_eq!(state["state"], "pending");
    assert_eq!(state["cause"]["object"]["name"], *pending.name);
    assert_eq!(answer(pending.cluster, &pending.name), "", "it is neither approved nor signed");

    pending
        .installation
        .person
        .run(["renew", pending.cloud, "--user", "ann", "--timeout", &timeout()])
        .done();
    let renewed = request(&pending.installation, pending.cloud, pending.cluster);
    assert_eq!(renewed["state"], "issued", "{renewed:#}");
    assert_ne!(renewed["object"]["name"], *pending.name, "the next one has another name");
    pending.worker.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_of_our_name_that_was_signed_for_another_subject_is_not_collected() {
    let environment = environment().await;
    let pending = Pending::new(&environment, "forged-answer").await;
    let attacker = Attacker::new(&environment, pending.cluster, "forged-answer-attacker", &may_ask());
    attacker.create(&forged(&pending.name, &pending.context, "another-user"));
    kubectl(pending.cluster, &["certificate", "approve", &pending.name]);
    let before = pending.kubeconfig();
    pending.resume();
    pending.is_foreign().await;
    assert_eq!(pending.kubeconfig(), before, "what was issued before is handed out");
    pending.worker.stop();
}
