//! Whatever is bad is refused by the command with its place and its rule, and changes nothing: no document is written and
//! no request is sent, with real clusters registered and a cloud on them.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod bad_kubeconfigs;
#[path = "../../../../../dcm-core/tests/it/kubeconfig/bombs.rs"]
mod bombs;
#[path = "../../../../../dcm-core/tests/it/document/bad_documents.rs"]
#[allow(dead_code, reason = "who else sees it is a matter of the documents' own tests")]
mod documents;
mod kubeconfigs;
mod standing;
mod stored;

use std::collections::BTreeSet;

use crate::common::User;
use standing::Standing;

/// Fewest rows of all tables together.
const ROWS_MIN: usize = 60;

/// Good by itself, and given beside each bad one.
const GOOD: &str =
    "{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {name: good, project: fresh}, spec: {}}";

#[tokio::test(flavor = "multi_thread")]
async fn every_bad_document_ends_with_code_3_and_all_its_refusals_and_changes_nothing() {
    let standing = Standing::new("read").await;
    let bad = standing.user.home().join("bad.yaml");
    let before = standing.before();
    for row in documents::table() {
        std::fs::write(&bad, &row.text).unwrap();
        for command in ["apply", "plan"] {
            let arguments = [command, "-f", "-", "-f", bad.to_str().unwrap()];
            let ran = standing.user.run_with_input(&arguments, GOOD);
            assert_eq!((ran.code, &*ran.out), (3, ""), "{}: {}", row.name, ran.err);
            let refusals: Vec<String> =
                row.refusals.iter().map(|refusal| format!("dcm: {}: {refusal}", bad.display())).collect();
            let said: Vec<&str> = ran.err.lines().filter(|line| line.starts_with("dcm: ")).collect();
            assert_eq!(said, refusals, "{}", row.name);
        }
        standing.assert_unchanged(&before, row.name);
    }
}

#[test]
fn a_bad_document_is_refused_before_a_store_is_made() {
    let user = User::new();
    user.run_with_input(&["apply", "-f", "-"], "{}").ended_with(3);
    assert_eq!(std::fs::read_dir(user.home()).unwrap().count(), 0);
}

/// What the tables must have, by the name of a row each.
const KINDS: [(&str, &str); 22] = [
    ("names", "a name with a space"),
    ("names", "a user's name with a slash"),
    ("namespaces", "a namespace with capitals"),
    ("unknown fields", "an unknown field of the spec"),
    ("wrong types", "a text instead of a list"),
    ("wrong types", "a mapping and a list instead of a text"),
    ("empty permissions", "a permission that permits nothing"),
    ("a cluster-wide permission in a standard cloud", "a cluster-wide permission in a standard cloud"),
    ("reserved names", "the namespace default"),
    ("reserved names", "a namespace of the cluster itself"),
    ("reserved names", "labels that are not the document's to say"),
    ("duplicate users", "two users of one name"),
    ("unknown cluster", "a cluster that is not registered"),
    ("huge input", "a text of more than 8 MiB"),
    ("huge input", "more than 1000 documents"),
    ("huge input", "aliases that stand for millions of nodes"),
    ("bad kubeconfig", "no YAML"),
    ("bad kubeconfig", "a certificate and the key of another"),
    ("kubeconfig with exec", "a program that is not there"),
    ("bad signing request", "a signing request that is none"),
    ("bad signing request", "a signing request whose signature is wrong"),
    ("signing request with a wrong subject", "a signing request for another subject"),
];

#[test]
fn the_tables_have_rows_of_every_kind_and_enough_of_them() {
    let mut names: BTreeSet<&str> = documents::table().into_iter().map(|row| row.name).collect();
    let others: Vec<&str> = stored::names().into_iter().chain(bad_kubeconfigs::names()).collect();
    assert!(others.iter().all(|name| names.insert(name)), "two rows of one name: {others:?}");
    assert!(names.len() >= ROWS_MIN, "{}", names.len());
    for (kind, name) in KINDS {
        assert!(names.contains(name), "no row of the kind {kind:?} is called {name:?}");
    }
}
