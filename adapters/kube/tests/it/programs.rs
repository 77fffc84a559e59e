//! Users who log in by a program. No Kubernetes is needed for this.
#![allow(clippy::unwrap_used, reason = "a test says where it failed")]

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::time::Duration;

use crate::common::answering::{answer, answering};
use crate::common::*;
use dcm_core::port::cluster::{Cluster as _, Error};
use dcm_core::secret::Secret;
use dcm_kube::kubeconfig::{Allowed, Commands};
use dcm_kube::{KubeCluster, Options};
use dcm_testenv::effort::patience;
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// How long a program that hangs is waited for.
const SHORT: Duration = Duration::from_secs(2);

const CREDENTIAL: &str = r#"{"kind": "ExecCredential", "status": {"token": "hunter2"}}"#;

/// The kubeconfig of a server without TLS whose user takes a credential from a program.
fn running(server: &str, command: &str, arguments: &[&str]) -> Value {
    let exec =
        json!({"apiVersion": "client.authentication.k8s.io/v1", "command": command, "args": arguments});
    json!({
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"exec": exec}}],
    })
}

/// A kubeconfig whose program is this script, with a folder as its first argument.
fn scripted(server: &str, script: &str, folder: &Path) -> Value {
    running(server, "sh", &["-c", script, "sh", folder.to_str().unwrap()])
}

fn running_only(command: &str) -> Options {
    let exec_commands = Commands::Named([command.to_owned()].into());
    Options {
        allowed: Allowed { exec_commands, insecure: true, proxy: true, ..Allowed::default() },
        request_time_limit: patience(),
        ..Options::default()
    }
}

/// The same, with this limit.
fn running_within(limit: Duration, command: &str) -> Options {
    Options { request_time_limit: limit, ..running_only(command) }
}

#[tokio::test]
async fn a_program_that_is_allowed_gives_the_credential() {
    let (address, mut seen) = answering(answer(200, r#"{"metadata": {"uid": "u"}}"#)).await;
    let kubeconfig = running(&format!("http://{address}"), "echo", &[CREDENTIAL]).to_string();
    let cluster = connect(&kubeconfig, &running_only("echo")).await;
    cluster.uid(&call("c")).await.unwrap();
    assert_eq!(seen.recv().await.unwrap().header("authorization"), Some("Bearer hunter2"));
}

#[tokio::test]
async fn a_program_that_fails_hangs_or_gives_nothing_is_told_without_what_it_said() {
    let says = |words: &str| running("http://127.0.0.1:1", "echo", &[words]);
    let failing = running("http://127.0.0.1:1", "sh", &["-c", "echo hunter2; echo hunter2 >&2; exit 1"]);
    let hanging = running("http://127.0.0.1:1", "sleep", &["600"]);
    let failed = "unusable kubeconfig: users[].user.exec: the program failed";
    let nothing = "unusable kubeconfig: users[].user.exec: the program gave no credential";
    for (kubeconfig, command, expected) in [
        (failing, "sh", failed),
        (says("hunter2"), "echo", nothing),
        (says(r#"{"status": {"expirationTimestamp": "hunter2"}}"#), "echo", nothing),
        (says(r#"{"status": {"clientCertificateData": "hunter2"}}"#), "echo", nothing),
        (says(r#"{"status": {"token": "hunter2\n"}}"#), "echo", nothing),
    ] {
        let secret = Secret::new(kubeconfig.to_string());
        let error = KubeCluster::connect(&secret, &running_only(command)).await.err().unwrap();
        assert_eq!(error.to_string(), expected);
        assert!(!format!("{error:?}").contains("hunter2"));
    }
    let secret = Secret::new(hanging.to_string());
    let error = KubeCluster::connect(&secret, &running_within(SHORT, "sleep")).await.err().unwrap();
    assert_eq!(error.to_string(), "no answer within 2s");
}

#[tokio::test]
async fn a_program_that_hangs_is_killed_when_nobody_waits_for_it_any_more() {
    let mut limit = SHORT;
    // On a busy machine a program may be killed before it has begun. The next one has more time.
    while !has_begun_and_is_killed(limit).await {
        limit *= 2;
        assert!(limit < patience(), "it never begins");
    }
}

/// Lets a program hang for so long, and waits until it is gone; false when it had no time to begin.
async fn has_begun_and_is_killed(limit: Duration) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let alive = folder.path().join("alive");
    assert!(std::process::Command::new("mkfifo").arg(&alive).status().unwrap().success());
    // Its end of the pipe is open for as long as the program lives.
    let script = "exec 3> $1/alive; echo begun >&3; exec sleep 600";
    let ((begin, mut begun), (end, ended)) = (oneshot::channel(), oneshot::channel());
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(File::open(alive).unwrap());
        let mut line = String::new();
        pipe.read_line(&mut line).unwrap();
        let _ = begin.send(line);
        let _ = end.send(pipe.read_to_end(&mut Vec::new()));
    });
    let kubeconfig = scripted("http://127.0.0.1:1", script, folder.path()).to_string();
    let options = running_within(limit, "sh");
    let error = KubeCluster::connect(&Secret::new(kubeconfig), &options).await.err().unwrap();
    assert!(matches!(error, Error::TimedOut { .. }), "{error}");
    if begun.try_recv().as_deref() != Ok("begun\n") {
        return false;
    }
    assert_eq!(within(patience(), ended).await.unwrap().unwrap(), 0);
    true
}

/// Gives another token each time it runs: `token-1`, `token-2`.
fn counting(expires: &str) -> String {
    format!(
        r#"echo run >> $1/runs; n=$(wc -l < $1/runs)
           echo '{{"status": {{"token": "token-'$((n))'", "expirationTimestamp": "{expires}"}}}}'"#
    )
}

#[tokio::test]
async fn a_program_runs_once_until_its_credential_expires_and_is_asked_again_then() {
    let (address, mut seen) = answering(answer(200, r#"{"metadata": {"uid": "u"}}"#)).await;
    for (expires, expected) in [
        ("2999-01-01T00:00:00Z", ["Bearer token-1", "Bearer token-1"]),
        ("2001-01-01T00:00:00Z", ["Bearer token-2", "Bearer token-3"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = scripted(&format!("http://{address}"), &counting(expires), folder.path());
        let cluster = connect(&kubeconfig.to_string(), &running_only("sh")).await;
        for expected in expected {
            cluster.uid(&call("c")).await.unwrap();
            assert_eq!(seen.recv().await.unwrap().header("authorization"), Some(expected));
        }
    }
}

#[tokio::test]
async fn a_program_is_told_the_proxy_that_the_kubeconfig_names_and_no_other() {
    let script = format!("printf %s \"$KUBERNETES_EXEC_INFO\" > $1/told; echo '{CREDENTIAL}'");
    for proxy in [None, Some("http://proxy.invalid:3128")] {
        let folder = tempfile::tempdir().unwrap();
        let mut kubeconfig = scripted("http://127.0.0.1:1", &script, folder.path());
        kubeconfig["users"][0]["user"]["exec"]["provideClusterInfo"] = true.into();
        if let Some(proxy) = proxy {
            kubeconfig["clusters"][0]["cluster"]["proxy-url"] = proxy.into();
        }
        connect(&kubeconfig.to_string(), &running_only("sh")).await;
        let told = std::fs::read_to_string(folder.path().join("told")).unwrap();
        let told: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told["kind"], "ExecCredential");
        assert_eq!(told["apiVersion"], "client.authentication.k8s.io/v1");
        assert_eq!(told["spec"]["interactive"], false);
        assert_eq!(told["spec"]["cluster"]["server"], "http://127.0.0.1:1");
        assert_eq!(told["spec"]["cluster"]["proxy-url"].as_str(), proxy);
    }
}

#[tokio::test]
async fn a_certificate_that_a_program_gives_is_used_for_tls() {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::default().self_signed(&key).unwrap();
    let credential = |key: String| {
        let status = json!({"clientCertificateData": certificate.pem(), "clientKeyData": key});
        running("https://127.0.0.1:1", "echo", &[&json!({"status": status}).to_string()]).to_string()
    };
    connect(&credential(key.serialize_pem()), &running_only("echo")).await;
    let unusable = Secret::new(credential("hunter2".to_owned()));
    let error = KubeCluster::connect(&unusable, &running_only("echo")).await.err().unwrap();
    let reason = "users[].user.exec: what the program gave can't be used for TLS: client-key-data: must be a private key in PEM";
    assert!(error.to_string().contains(reason), "{error}");
}
