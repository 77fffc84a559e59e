//! Golden files: what whole logical clouds render to, byte for byte.
//!
//! Each `tests/golden/CASE.cloud.json` holds a cloud with the credentials of its users, and `CASE.bundle.json` what it
//! renders to. After a change that is meant, write them anew with
//!
//! ```text
//! DCM_REGENERATE_GOLDEN=1 cargo test -p dcm-core --test it golden::
//! ```
//!
//! and read the difference: it is what all clusters would get.

#![cfg(feature = "logical-cloud")]
#![allow(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use dcm_core::app_context::{Action, Bundle, Request};
use dcm_core::logical_cloud::{
    AccountSeed, Draft, Epoch, LogicalCloud, LogicalCloudUid, RENDERED_KINDS, RequestNonce, RequestPem,
    Serial,
};
use dcm_core::name::{ProjectName, UserName};
use dcm_core::render::{self, Credential, Credentials, RequestToSend, naming::Identity};
use serde::Deserialize;
use serde_json::{Value, json};

/// Set to anything, golden files are written anew instead of compared.
const REGENERATE: &str = "DCM_REGENERATE_GOLDEN";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Case {
    project: ProjectName,
    uid: LogicalCloudUid,
    cloud: Draft,
    #[serde(default)]
    credentials: BTreeMap<UserName, CaseCredential>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CaseCredential {
    epoch: Epoch,
    serial: Serial,
    #[serde(default)]
    request: Option<CaseRequest>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CaseRequest {
    pem: RequestPem,
    nonce: RequestNonce,
}

fn load(path: &Path) -> (LogicalCloud, Credentials) {
    let text = std::fs::read_to_string(path).unwrap();
    let case: Case =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let credentials = case.credentials.into_iter().map(|(user, one)| {
        let CaseCredential { epoch, serial, request } = one;
        let request = request.map(|CaseRequest { pem, nonce }| RequestToSend { pem, nonce });
        (user, Credential { epoch, serial, request, accounts: AccountSeed::from_random(1) })
    });
    let (cloud, _) = LogicalCloud::new(case.project, case.uid, case.cloud)
        .unwrap_or_else(|refusals| panic!("{}: {refusals}", path.display()));
    (cloud, credentials.collect())
}

/// What is compared: the steps, and the names that go with them.
fn picture(cloud: &LogicalCloud, credentials: &Credentials) -> String {
    let identity = Identity::of(cloud);
    let subjects: BTreeMap<&str, Value> = credentials
        .iter()
        .map(|(user, credential)| (user.as_str(), json!(identity.subject(user, credential.epoch))))
        .collect();
    let bundle = render::bundle(cloud, credentials).unwrap();
    let picture = json!({
        "context": identity.context_id(),
        "labels": identity.labels(),
        "subjects": subjects,
        "steps": steps(&bundle),
    });
    format!("{}\n", serde_json::to_string_pretty(&picture).unwrap())
}

fn steps(bundle: &Bundle) -> Vec<Value> {
    let step = |stage: u16, action: &Action| match action {
        Action::Apply { manifest, existing, drift } => {
            let mut shown = json!({"stage": stage, "existing": existing, "object": manifest});
            if !drift.is_default() {
                shown["drift"] = json!(drift);
            }
            shown
        }
        Action::Edit { edit } => json!({"stage": stage, "edit": edit}),
        Action::Request { name, request } => {
            let request = match request {
                Request::Certificate(certificate) => json!({"certificate": certificate}),
                Request::Token(token) => json!({"token": token}),
            };
            json!({"stage": stage, "name": name, "request": request})
        }
    };
    bundle.steps().iter().map(|one| step(one.stage.0, &one.action)).collect()
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut cases: Vec<PathBuf> =
        files.filter(|path| path.to_string_lossy().ends_with(".cloud.json")).collect();
    cases.sort();
    assert!(!cases.is_empty(), "there are golden files");
    cases
}

#[test]
fn whole_clouds_render_to_their_golden_files() {
    let mut different = Vec::new();
    for case in cases() {
        let (cloud, credentials) = load(&case);
        let found = picture(&cloud, &credentials);
        let golden = PathBuf::from(case.to_string_lossy().replace(".cloud.json", ".bundle.json"));
        if std::env::var_os(REGENERATE).is_some() {
            std::fs::write(&golden, &found).unwrap();
        } else if std::fs::read_to_string(&golden).unwrap_or_default() != found {
            different.push(format!("--- {} should be\n{found}", golden.display()));
        }
    }
    assert!(different.is_empty(), "{}\nset {REGENERATE}=1 when the change is meant", different.join("\n"));
}

#[test]
fn what_was_stored_renders_to_the_same_bytes() {
    for case in cases() {
        let (cloud, credentials) = load(&case);
        let stored = serde_json::to_string(&cloud).unwrap();
        let again: LogicalCloud = serde_json::from_str(&stored).unwrap();
        assert_eq!(picture(&cloud, &credentials), picture(&again, &credentials));
    }
}

#[test]
fn an_admin_cloud_renders_nothing() {
    let admin = cases().into_iter().find(|path| path.ends_with("admin.cloud.json")).unwrap();
    let (cloud, credentials) = load(&admin);
    assert!(render::bundle(&cloud, &credentials).unwrap().steps().is_empty());
}

#[test]
fn clouds_render_to_objects_of_the_kinds_that_are_listed_and_of_those_of_their_extra_manifests() {
    let mut rendered = BTreeSet::new();
    for case in cases() {
        let (cloud, credentials) = load(&case);
        let bundle = render::bundle(&cloud, &credentials).unwrap();
        for step in bundle.steps() {
            let Action::Apply { manifest, .. } = &step.action else { continue };
            let is_extra = cloud.manifests().iter().any(|extra| extra.key() == manifest.key());
            if !is_extra {
                let kind = manifest.kind();
                rendered.insert((kind.group.to_string(), kind.version.to_string(), kind.kind.to_string()));
            }
        }
    }
    let listed = RENDERED_KINDS.map(|(group, kind)| (group.to_owned(), "v1".to_owned(), kind.to_owned()));
    assert_eq!(rendered, BTreeSet::from(listed));
}
