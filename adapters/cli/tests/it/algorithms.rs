//! Requests that users bring, of many kinds of keys and hashes, through `dcm apply` and the signer of a real cluster.

use std::process::Command;

use dcm_testenv::Environment;
use dcm_testenv::certificates::{Hash, KeyKind, Signer};
use serde_json::{Value, json};

use crate::common::Ran;
use crate::common::installation::Installation;

const CLOUD: &str = "algorithms";

/// Each user with the key of their request.
fn users() -> Vec<(String, Signer)> {
    let signer = |kind, hash| Signer::generate(kind, hash).unwrap();
    let signers = [
        signer(KeyKind::P256, Hash::Sha512),
        signer(KeyKind::P384, Hash::Sha512),
        signer(KeyKind::P384, Hash::Sha256),
        signer(KeyKind::P521, Hash::Sha256),
        signer(KeyKind::P521, Hash::Sha512),
        signer(KeyKind::Ed25519, Hash::Sha512),
        signer(KeyKind::Rsa2048, Hash::Sha384),
        signer(KeyKind::Rsa4096, Hash::Sha512),
        signer(KeyKind::Rsa3072, Hash::Sha256).with_pss(),
    ];
    signers.into_iter().enumerate().map(|(index, signer)| (format!("user-{index}"), signer)).collect()
}

fn spec(users: &Value) -> Value {
    json!({
        "users": users,
        "permissions": [{"name": "look", "apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}],
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_every_kind_that_kubernetes_takes_are_issued_with_text_before_them() {
    let environment = Environment::group("algorithms", 1).await.unwrap();
    let installation = Installation::new(&environment, CLOUD);
    let person = &installation.person;
    installation.apply(&installation.document(CLOUD, spec(&json!([])))).done();
    let users = users();
    let with_requests = users.iter().map(|(name, signer)| {
        let subject = person.run(["subject", CLOUD, name, "-o", "json"]).done();
        let subject: Value = serde_json::from_str(&subject).unwrap();
        let part = |name: &str| subject[name].as_str().unwrap();
        let request = signer.request(part("organization"), part("commonName")).unwrap();
        json!({"name": name, "csr": format!("Certificate Request:\n    Data:\n{request}")})
    });
    let with_requests = with_requests.collect();
    installation.apply(&installation.document(CLOUD, spec(&with_requests))).done();
    let stored: Value = serde_json::from_str(&person.run(["get", CLOUD, "-o", "json"]).done()).unwrap();
    for (index, (name, signer)) in users.iter().enumerate() {
        let request = stored["spec"]["users"][index]["csr"].as_str().unwrap();
        assert!(request.starts_with("-----BEGIN CERTIFICATE REQUEST-----\n"), "{signer:?}: {request}");
        let file = person.write(&format!("{name}.kubeconfig"), "");
        let file = file.to_str().unwrap();
        person.run(["kubeconfig", CLOUD, "--user", name, "--file", file]).done();
        let key = person.write(&format!("{name}.key"), &signer.key());
        let mut command = Command::new(environment.kubectl());
        command.env_clear().env("HOME", person.home()).args(["--kubeconfig", file, "--client-key"]).arg(key);
        command.args([
            "--namespace",
            CLOUD,
            "get",
            "pods",
            "--context",
            &format!("{name}@{}", environment.clusters()[0].name()),
        ]);
        let ran = Ran::of(command.output().unwrap());
        assert!(ran.err.contains("No resources found"), "{signer:?}: {}", ran.err);
    }
}
