//! No `Debug` of what holds a secret shows it, and no error about it does.
#![cfg(all(feature = "logical-cloud", feature = "pki"))]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Debug;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::app_context::{Action, AppContext, Bundle, Drift, Existing, Generation, Stage, Step};
use dcm_core::document::{Limits, parse};
use dcm_core::kubeconfig::{Access, Admin, ClusterAccess, Credential, merge};
use dcm_core::logical_cloud::{Draft, LogicalCloud, LogicalCloudUid, UserDraft};
use dcm_core::manifest::Manifest;
use dcm_core::name::{ContextId, OwnerId};
use dcm_core::pki::{SystemKeys, check_request};
use dcm_core::port::cluster::{IssuedToken, Marks, Object, Origin, Stamped};
use dcm_core::port::key_source::{KeyAndRequest, KeySource};
use dcm_core::port::store::{Change, Document, Entry, Page, Path, Version, Write};
use dcm_core::port::synchronizer::{Issued, Removal, Results};
use dcm_core::secret::Secret;
use dcm_core::service::{ClusterPage, RegisteredCluster, Registration, UserAccess};
use dcm_core::subject::Subject;
use serde_json::{Value, json};

/// In every value below; letters that no other text has.
const HIDDEN: &str = "hunter2/hunter2+hunter2";

fn secret() -> Secret {
    Secret::new(HIDDEN)
}

/// Pasted where something else belongs, or where it belongs.
fn pasted_key() -> String {
    ["-----BEGIN PRIVATE", &format!(" KEY-----\n{HIDDEN}\n-----END PRIVATE"), " KEY-----\n"].concat()
}

fn is_shown_in(text: &str) -> bool {
    text.contains(HIDDEN) || (0..3).any(|before| text.contains(&encoded(before)))
}

/// The letters that are the secret's alone in base64 of a text in which it stands after so many bytes: three bytes are
/// four letters, so it looks in three ways.
fn encoded(before: usize) -> String {
    let letters = STANDARD.encode("x".repeat(before) + HIDDEN);
    let whole = (before + HIDDEN.len()) / 3 * 4;
    letters[(before * 4).div_ceil(3)..whole].to_owned()
}

fn is_shown(value: &dyn Debug) -> bool {
    is_shown_in(&format!("{value:?}")) || is_shown_in(&format!("{value:#?}"))
}

/// An error, in its words and all forms, with those below it.
fn is_told(error: &(dyn Error + 'static)) -> bool {
    let mut errors = std::iter::successors(Some(error), |error: &&(dyn Error + 'static)| (*error).source());
    errors.any(|error| is_shown(&error) || is_shown_in(&error.to_string()))
}

fn parsed<T: std::str::FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

fn admin_kubeconfig() -> Secret {
    let file = json!({
        "current-context": "it", "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "clusters": [{"name": "it", "cluster": {"server": "https://it.example"}}],
        "users": [{"name": "it", "user": {"token": HIDDEN, "client-key-data": STANDARD.encode(pasted_key())}}],
    });
    Secret::new(file.to_string())
}

fn access(credential: &Credential) -> Access {
    let cluster = Admin::read(&admin_kubeconfig()).unwrap();
    let access = ClusterAccess { cluster, credential: credential.clone() };
    Access {
        project: parsed("p"),
        logical_cloud: parsed("c"),
        user: parsed("u"),
        namespace: parsed("n"),
        clusters: BTreeMap::from([(parsed("r"), access)]),
    }
}

fn registered() -> RegisteredCluster {
    let registration = Registration::new(parsed("p/c"), admin_kubeconfig());
    let by = dcm_core::service::Change {
        by: "ann".into(),
        why: String::new(),
        request_id: String::new(),
        at: jiff::Timestamp::UNIX_EPOCH,
    };
    let revision = dcm_core::service::Revision::from_text("0");
    RegisteredCluster { registration, created: by.clone(), changed: by, revision, is_moved: false }
}

/// What is kept and handed on: credentials and kubeconfigs.
fn credentials() -> Vec<(&'static str, Box<dyn Debug>)> {
    let expires = jiff::Timestamp::UNIX_EPOCH;
    let token = Issued::Token { token: secret(), expires, received: None, tried: true };
    let results: Results = BTreeMap::from([(parsed("p/c"), BTreeMap::from([("t".into(), token.clone())]))]);
    let with_key =
        Credential::Certificate { certificate: String::new(), key: Some(Secret::new(pasted_key())) };
    let with_token = Credential::Token(secret());
    let user_access = UserAccess {
        access: access(&with_key),
        holds: BTreeMap::new(),
        clusters: BTreeSet::new(),
        missing: BTreeMap::new(),
    };
    let page = ClusterPage { clusters: vec![registered()], broken: Vec::new(), next: None };
    vec![
        ("Secret", Box::new(secret())),
        ("IssuedToken", Box::new(IssuedToken { token: secret(), expires })),
        ("Issued", Box::new(token)),
        ("Results", Box::new(results)),
        ("KeyAndRequest", Box::new(KeyAndRequest { key: secret(), request: String::new() })),
        ("Admin", Box::new(Admin::read(&admin_kubeconfig()).unwrap())),
        ("Access with keys", Box::new(access(&with_key))),
        ("Access with tokens", Box::new(access(&with_token))),
        ("a written kubeconfig", Box::new(access(&with_token).for_all_clusters())),
        ("a kubeconfig to merge", Box::new(access(&with_key).for_merging())),
        ("a merged kubeconfig", Box::new(merge(&admin_kubeconfig(), &access(&with_key)).unwrap())),
        ("UserAccess", Box::new(user_access)),
        ("RegisteredCluster", Box::new(registered())),
        ("ClusterPage", Box::new(page)),
    ]
}

/// What lies in a store.
fn documents() -> Vec<(&'static str, Box<dyn Debug>)> {
    let path = Path::new("a/b").unwrap();
    let document = Document::from_value(&json!({"key": secret(), "clear": HIDDEN})).unwrap();
    let entry = Entry { path: path.clone(), version: Version(1), document: document.clone() };
    vec![
        ("Document", Box::new(document.clone())),
        ("Entry", Box::new(entry.clone())),
        ("Page", Box::new(Page { entries: vec![entry.clone()], next: None })),
        ("Change", Box::new(Change::Put(entry))),
        ("a create", Box::new(Write::Create { path: path.clone(), document: document.clone() })),
        ("an update", Box::new(Write::Update { path, version: Version(1), document })),
    ]
}

/// What goes to clusters, and comes from them: an embedder may have Secrets among it.
fn manifests() -> Vec<(&'static str, Box<dyn Debug>)> {
    let body = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "n"},
        "stringData": {"clear": HIDDEN}, "data": {"encoded": STANDARD.encode(HIDDEN)},
    });
    let manifest = Manifest::new(body.clone()).unwrap();
    let marks = Marks {
        owner: OwnerId::new("o").unwrap(),
        context: ContextId::new("c").unwrap(),
        generation: Generation(1),
        manifest: None,
        origin: Origin::Created,
    };
    let stamped = Stamped { manifest: manifest.clone(), marks, labels: Arc::default(), proof: None };
    let action =
        Action::Apply { manifest: manifest.clone(), existing: Existing::Refuse, drift: Drift::default() };
    let bundle = Bundle::new(vec![Step { app: parsed("a"), stage: Stage(0), action }]).unwrap();
    let placements = BTreeMap::from([(parsed("p/c"), Arc::new(bundle))]);
    let object = Object {
        kind: manifest.kind().clone(),
        key: manifest.key().clone(),
        uid: "u".into(),
        resource_version: "1".into(),
        marks: None,
        deleting: None,
        body: Arc::new(body),
    };
    vec![
        ("Manifest", Box::new(manifest)),
        ("Stamped", Box::new(stamped)),
        (
            "AppContext",
            Box::new(AppContext {
                id: parsed("c"),
                labels: BTreeMap::new(),
                removal: Removal::default(),
                placements,
            }),
        ),
        ("Object", Box::new(object)),
    ]
}

/// A document into which somebody pasted the key.
fn draft() -> Draft {
    let user = UserDraft { name: "ann".into(), csr: Some(pasted_key()), ..UserDraft::default() };
    let mut draft = Draft::default();
    draft.metadata.name = "c".into();
    draft.spec.users.push(user);
    draft
}

#[test]
fn no_debug_shows_the_secret_that_its_value_holds() {
    let drafts: Vec<(&str, Box<dyn Debug>)> =
        vec![("UserDraft", Box::new(draft().spec.users.remove(0))), ("Draft", Box::new(draft()))];
    for (name, value) in [credentials(), documents(), manifests(), drafts].into_iter().flatten() {
        assert!(!is_shown(&value), "{name}: {value:?}");
    }
    // What is looked for would be found.
    assert!(is_shown(&json!({"a": [HIDDEN]})));
    for before in 0..3 {
        assert!(is_shown(&STANDARD.encode("y".repeat(before) + HIDDEN + "z")), "{before}");
    }
    let with_key =
        Credential::Certificate { certificate: String::new(), key: Some(Secret::new(pasted_key())) };
    let for_merging = access(&with_key).for_merging().to_yaml().unwrap();
    assert!(is_shown_in(for_merging.expose()), "the key is in what is written");
}

/// Errors of everything that reads what may hold secrets.
fn errors() -> Vec<(&'static str, Box<dyn Error>)> {
    let document = Document::from_value(&json!({"a": HIDDEN})).unwrap();
    let broken = |text: &str| Secret::new(format!("{text}: [{HIDDEN}\n{HIDDEN}: {{"));
    let of_shape = |value: Value| Secret::new(value.to_string());
    let subject = Subject::new("ann", None).unwrap();
    let token = access(&Credential::Token(secret()));
    let taken = of_shape(json!({"users": [{"name": "u@p/c/r", "user": {"token": HIDDEN}}]}));
    let pasted = json!({"apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "metadata": {"name": "c"},
                        "spec": {"users": [{"name": "ann", "csr": pasted_key()}]}});
    vec![
        ("a document of another type", Box::new(document.read::<Vec<u8>>().unwrap_err())),
        ("a text that is no kubeconfig", Box::new(Admin::read(&broken("a")).unwrap_err())),
        ("a merge into what is broken", Box::new(merge(&broken("a"), &token).unwrap_err())),
        ("a merge into a taken name", Box::new(merge(&taken, &token).unwrap_err())),
        (
            "a kubeconfig without a context",
            Box::new(Admin::read(&of_shape(json!({"token": HIDDEN}))).unwrap_err()),
        ),
        ("a server with a password", Box::new(Admin::read(&with_password()).unwrap_err())),
        ("a key instead of a request", Box::new(check_request(&pasted_key(), &subject).unwrap_err())),
        (
            "a key in a cloud",
            Box::new(LogicalCloud::new(parsed("p"), LogicalCloudUid::from_random(0), draft()).unwrap_err()),
        ),
        (
            "a key in a document",
            Box::new(parse(pasted.to_string().as_bytes(), &parsed("p"), &Limits::default()).unwrap_err()),
        ),
    ]
}

fn with_password() -> Secret {
    let text = admin_kubeconfig().expose().replace("https://", &format!("https://ann:{HIDDEN}@"));
    Secret::new(text)
}

#[test]
fn no_error_shows_the_secret_in_what_it_is_about() {
    for (name, error) in errors() {
        assert!(!is_told(&*error), "{name}: {error:?}");
    }
}

#[test]
fn a_made_key_is_in_no_debug() {
    let made = SystemKeys.issue(&Subject::new("ann", None).unwrap()).unwrap();
    let lines: Vec<&str> = made.key.expose().lines().filter(|line| !line.starts_with('-')).collect();
    let shown = format!("{made:?} {made:#?}");
    assert!(lines.iter().all(|line| !shown.contains(line)));
}
