//! What a crate pulls in, all the way down: embedders don't pay for what they don't use.
//!
//! Asked for each feature set on its own. A build of the whole workspace joins the features of all its crates and would
//! prove nothing.

use std::collections::BTreeSet;

use dcm_policy::crates::{DATABASES, matches};
use dcm_policy::{FeatureSet, Workspace, cargo};

const RUNTIMES: &[&str] =
    &["tokio", "tokio-*", "async-std", "smol", "async-executor", "async-io", "mio", "polling"];
const HTTP: &[&str] =
    &["hyper", "hyper-*", "reqwest", "http", "http-body", "h2", "tower-http", "ureq", "isahc"];
const KUBERNETES_CLIENTS: &[&str] = &["kube", "kube-*"];
const GRPC: &[&str] = &["tonic", "tonic-*"];
/// `sha2` and `hmac` are no part of this list, and the exceptions that there are: records and marks on objects name their
/// content by its SHA-256, and marks are proved by an HMAC. Neither keeps a secret from anybody.
const CRYPTOGRAPHY: &[&str] = &[
    "ring",
    "aws-lc-*",
    "rustls",
    "rustls-*",
    "tokio-rustls",
    "rcgen",
    "x509-*",
    "openssl",
    "openssl-*",
    "native-tls",
    "boring",
    "boring-*",
    "p256",
    "p384",
    "k256",
    "rsa",
    "dsa",
    "ecdsa",
    "ed25519",
    "ed25519-*",
    "curve25519-*",
    "signature",
    "aes",
    "aes-*",
    "chacha20",
    "chacha20*",
    "aead",
    "cipher",
    "hkdf",
    "pbkdf2",
    "argon2",
    "scrypt",
    "sha1",
    "md5",
    "blake*",
    "crypto-bigint",
];
const LOGICAL_CLOUDS: &[&str] = &["k8s-openapi", "schemars", "serde-saphyr"];
const MODEL: &[&str] = &["k8s-openapi", "serde-saphyr"];

/// The names of all crates that are built into one, on any platform.
fn pulled_in(features: &[&str]) -> BTreeSet<String> {
    let mut arguments = vec!["tree", "--locked", "--edges", "normal", "--target", "all", "--prefix", "none"];
    arguments.extend(features);
    let tree = cargo(&arguments).unwrap_or_else(|error| panic!("{error}"));
    tree.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

fn assert_free_of(features: &[&str], forbidden: &[&[&str]]) {
    let crates = pulled_in(features);
    let is_forbidden =
        |name: &&String| forbidden.iter().copied().flatten().any(|pattern| matches(pattern, name));
    let found: Vec<_> = crates.iter().filter(is_forbidden).collect();
    assert!(found.is_empty(), "with {features:?} these are pulled in: {found:?}");
}

fn feature_sets(package: &str) -> Vec<FeatureSet> {
    let workspace = Workspace::load().unwrap_or_else(|error| panic!("{error}"));
    FeatureSet::all_of(workspace.member(package).unwrap_or_else(|| panic!("there is no {package}")))
}

#[test]
fn the_core_pulls_in_no_runtime_http_kubernetes_client_or_database() {
    let forbidden = [RUNTIMES, HTTP, GRPC, KUBERNETES_CLIENTS, DATABASES];
    for set in feature_sets("dcm-core") {
        assert_free_of(&set.arguments(), &forbidden);
    }
    assert_free_of(&["--package", "dcm-core", "--all-features"], &forbidden);
}

#[test]
fn the_core_without_features_pulls_in_no_cryptography_and_no_model_of_logical_clouds() {
    assert_free_of(&["--package", "dcm-core", "--no-default-features"], &[CRYPTOGRAPHY, LOGICAL_CLOUDS]);
}

#[test]
fn the_engine_pulls_in_no_cryptography_and_no_model_of_logical_clouds() {
    // The features that issue real certificates: in simulations, and to try them at a cluster under test.
    let issues = |feature: Option<&str>| matches!(feature, Some("sim-pki" | "contract"));
    for set in feature_sets("dcm-sync").into_iter().filter(|set| !issues(set.feature.as_deref())) {
        // And the one that is there to tell the schemas of what is written.
        let model = if set.feature.as_deref() == Some("schema") { MODEL } else { LOGICAL_CLOUDS };
        assert_free_of(&set.arguments(), &[CRYPTOGRAPHY, model, HTTP, GRPC, KUBERNETES_CLIENTS, DATABASES]);
    }
}

#[test]
fn the_engine_without_its_default_runtime_pulls_in_none() {
    assert_free_of(&["--package", "dcm-sync", "--no-default-features"], &[RUNTIMES]);
}

#[test]
fn a_store_in_memory_pulls_in_no_database_runtime_or_cryptography() {
    assert_free_of(&["--package", "dcm-store"], &[DATABASES, GRPC, RUNTIMES, CRYPTOGRAPHY]);
}

#[test]
fn who_asks_is_found_out_without_a_web_framework_and_with_one_provider_of_cryptography() {
    // The crate for tokens would bring another one with any of its features.
    let others = &["ring", "openssl", "openssl-sys", "native-tls", "rsa", "p256", "p384", "ed25519-*"];
    assert_free_of(&["--package", "dcm-identity"], &[others, &["axum", "axum-*"], KUBERNETES_CLIENTS]);
}

#[test]
fn the_workspace_has_one_http_client() {
    // That one is hyper's.
    let others = &["attohttpc", "curl", "isahc", "minreq", "reqwest", "ureq"];
    assert_free_of(&["--workspace", "--all-features"], &[others]);
}

#[test]
fn the_workspace_has_one_provider_of_cryptography() {
    assert_free_of(
        &["--workspace", "--all-features"],
        &[&[
            "ring",
            "aws-lc-fips-sys",
            "rsa",
            "p256",
            "p384",
            "p521",
            "openssl",
            "openssl-sys",
            "openssl-src",
            "native-tls",
            "boring",
            "boring-*",
            "mbedtls",
        ]],
    );
}
