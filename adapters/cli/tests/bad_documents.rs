//! Every bad document is refused by the command with all that is wrong in it, and changes nothing.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

#[path = "../../../dcm-core/tests/document/bad_documents.rs"]
#[allow(dead_code, reason = "who else sees it is a matter of the documents' own tests")]
mod bad_documents;
mod common;

use common::User;

#[test]
fn every_bad_document_ends_with_code_3_and_all_its_refusals_and_changes_nothing() {
    let user = User::new();
    let good = "{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {name: good}, spec: {}}";
    for row in bad_documents::table() {
        let bad = user.home().join("bad.yaml");
        std::fs::write(&bad, &row.text).unwrap();
        let ran = user.run_with_input(&["apply", "-f", "-", "-f", bad.to_str().unwrap()], good);
        assert_eq!((ran.code, &*ran.out), (3, ""), "{}: {}", row.name, ran.err);
        let refusals: Vec<String> =
            row.refusals.iter().map(|refusal| format!("dcm: {}: {refusal}", bad.display())).collect();
        let said: Vec<&str> = ran.err.lines().filter(|line| line.starts_with("dcm: ")).collect();
        assert_eq!(said, refusals, "{}", row.name);
    }
    // Not even a store was made.
    assert!(!user.home().join(".local").exists());
}
