//! Tests of what changes from one rendering to the next, and of what can't be rendered.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::logical_cloud::{AccountSeed, Epoch, LogicalCloudUid, RequestNonce, RequestPem, Serial};
use crate::manifest::ObjectKey;
use crate::name::{ProjectName, UserName};

const CSR: &str = "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----";

fn cloud(spec: &Value) -> LogicalCloud {
    let draft = serde_json::from_value(json!({"metadata": {"name": "lc"}, "spec": spec})).unwrap();
    LogicalCloud::new(ProjectName::new("p").unwrap(), LogicalCloudUid::from_random(1), draft).unwrap().0
}

fn of(user: &str, epoch: u32, serial: u32) -> Credentials {
    let nonce = RequestNonce::from_random(u64::from(serial));
    let request = Some(RequestToSend { pem: RequestPem::new(CSR).unwrap(), nonce });
    let credential = Credential {
        epoch: Epoch(epoch),
        serial: Serial(serial),
        request,
        accounts: AccountSeed::from_random(1),
    };
    BTreeMap::from([(UserName::new(user).unwrap(), credential)])
}

fn permission(more: &Value) -> Value {
    let mut permission = json!({"name": "read", "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
    for (member, value) in more.as_object().unwrap() {
        permission[member] = value.clone();
    }
    permission
}

/// Objects with their bodies.
fn objects(bundle: &Bundle) -> BTreeMap<ObjectKey, Value> {
    let object = |step: &Step| match &step.action {
        Action::Apply { manifest, .. } => Some((manifest.key().clone(), manifest.body().clone())),
        Action::Edit { .. } | Action::Request { .. } => None,
    };
    bundle.steps().iter().filter_map(object).collect()
}

fn requests(bundle: &Bundle) -> Vec<String> {
    let request = |step: &Step| match &step.action {
        Action::Apply { .. } | Action::Edit { .. } => None,
        Action::Request { name, .. } => Some(name.to_string()),
    };
    bundle.steps().iter().filter_map(request).collect()
}

#[test]
fn a_new_epoch_changes_the_bindings_and_nothing_else() {
    let cloud = cloud(&json!({"users": [{"name": "ann"}], "permissions": [permission(&json!({}))]}));
    let before = objects(&bundle(&cloud, &of("ann", 1, 1)).unwrap());
    let after = objects(&bundle(&cloud, &of("ann", 2, 1)).unwrap());
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    for (key, body) in &before {
        assert_eq!(after[key] != *body, &*key.kind == "RoleBinding", "{key}");
    }
}

#[test]
fn a_renewal_is_another_request_and_changes_no_object() {
    let cloud = cloud(&json!({"users": [{"name": "ann"}], "permissions": [permission(&json!({}))]}));
    let before = bundle(&cloud, &of("ann", 1, 1)).unwrap();
    let after = bundle(&cloud, &of("ann", 1, 2)).unwrap();
    assert_eq!(objects(&before), objects(&after));
    assert_eq!(requests(&before), ["certificate/ann/1/1"]);
    assert_eq!(requests(&after), ["certificate/ann/1/2"]);
}

#[test]
fn a_user_without_a_credential_is_bound_to_nothing_and_gets_nothing() {
    let users = json!([{"name": "ann"}, {"name": "robot", "type": "token"}]);
    let cloud = cloud(&json!({"users": users, "permissions": [permission(&json!({}))]}));
    let rendered = bundle(&cloud, &Credentials::new()).unwrap();
    let kinds: Vec<String> = objects(&rendered).keys().map(|key| key.kind.to_string()).collect();
    assert_eq!(kinds, ["Namespace", "Role"]);
    assert!(requests(&rendered).is_empty());
}

#[test]
fn another_scope_is_another_object_never_another_role_in_a_binding() {
    let scopes = [json!({}), json!({"namespace": "other"}), json!({"clusterWide": true})];
    let mut roles: BTreeMap<ObjectKey, Value> = BTreeMap::new();
    for scope in scopes {
        let spec =
            json!({"level": "privileged", "users": [{"name": "ann"}], "permissions": [permission(&scope)]});
        for (key, body) in objects(&bundle(&cloud(&spec), &of("ann", 1, 1)).unwrap()) {
            if !body["roleRef"].is_null() {
                assert_eq!(roles.insert(key, body["roleRef"].clone()), None);
            }
        }
    }
    assert_eq!(roles.len(), 3);
}

#[test]
fn an_extra_manifest_in_place_of_a_rendered_object_is_an_error_that_names_it() {
    let rbac = "rbac.authorization.k8s.io/v1";
    let role = json!({"apiVersion": rbac, "kind": "Role", "metadata": {"name": "read"}, "rules": []});
    let spec = json!({"level": "privileged", "permissions": [permission(&json!({}))], "manifests": [role]});
    let error = bundle(&cloud(&spec), &Credentials::new()).unwrap_err();
    let Error::Bundle(InvalidBundle::ObjectTwice(key)) = error else { panic!("{error:?}") };
    assert_eq!(key.to_string(), "Role.rbac.authorization.k8s.io lc/read");
}

#[test]
fn the_largest_cloud_renders_to_a_legal_bundle() {
    use crate::logical_cloud::limits::{MANIFESTS_MAX, PERMISSIONS_MAX, QUOTAS_MAX, USERS_MAX};
    let many = |count: usize, make: &dyn Fn(usize) -> Value| (0..count).map(make).collect::<Vec<Value>>();
    let spec = json!({
        "users": many(USERS_MAX, &|n| json!({"name": format!("u{n}"), "type": "token"})),
        "permissions": many(PERMISSIONS_MAX, &|n| permission(&json!({"name": format!("p{n}"), "users": ["u0"]}))),
        "quotas": many(QUOTAS_MAX, &|n| json!({"name": format!("q{n}"), "hard": {"limits.cpu": n + 1}})),
        "manifests": many(MANIFESTS_MAX, &|n| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("c{n}")}})
        }),
    });
    let cloud = cloud(&spec);
    let credentials: Credentials =
        cloud.users().iter().flat_map(|user| of(user.metadata.name.as_str(), 1, 1)).collect();
    let steps = bundle(&cloud, &credentials).unwrap().steps().len();
    assert_eq!(steps, 2 + QUOTAS_MAX + 2 * USERS_MAX + 2 * PERMISSIONS_MAX + MANIFESTS_MAX);
}
