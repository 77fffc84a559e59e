//! Missing servers are an error that helps, and never a silent pass.
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as the tests do")]

use std::error::Error as _;
use std::process::Command;

use dcm_testenv::{Environment, Lookup};

async fn start_error(lookup: Lookup) -> String {
    let error = Environment::builder().lookup(lookup).start().await.unwrap_err();
    format!("{error}: {}", error.source().unwrap())
}

#[tokio::test]
async fn without_programs_and_go_the_error_says_what_is_missing_where_it_was_looked_for_and_what_helps() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let text = start_error(Lookup::new(Some(place("assets")), place("path"), Some(place("cache")))).await;
    for part in [
        "not found: etcd, kube-apiserver, kube-controller-manager, kubectl.",
        &format!("KUBEBUILDER_ASSETS ({})", place("assets").display()),
        &format!("PATH ({})", place("path").display()),
        &format!("the cache ({}/kubernetes-", place("cache").display()),
        "`go` is not on PATH",
        "Install Go 1.26 or newer, or set KUBEBUILDER_ASSETS",
    ] {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

#[tokio::test]
async fn without_a_cache_folder_the_error_says_how_to_name_one() {
    let text = start_error(Lookup::new(None, "", None)).await;
    assert!(text.contains("KUBEBUILDER_ASSETS (not set)"), "{text}");
    assert!(text.contains("neither DCM_TESTENV_CACHE nor HOME is set"), "{text}");
}

/// The variables can't be changed within a process that has threads, so this program is started again.
#[test]
fn a_test_whose_environment_variables_lead_nowhere_fails() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "missing_programs::a_test_that_needs_the_servers", "--ignored"])
        .env_remove("KUBEBUILDER_ASSETS")
        .env("PATH", folder.path())
        .env("DCM_TESTENV_CACHE", folder.path().join("cache"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success(), "{text}");
    assert!(text.contains(&format!("{}/cache/kubernetes-", folder.path().display())), "{text}");
}

#[tokio::test]
#[ignore = "started by another test, as a process of its own"]
async fn a_test_that_needs_the_servers() {
    Environment::shared(1).await.unwrap();
}
