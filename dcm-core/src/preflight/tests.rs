use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::logical_cloud::{AccountSeed, Draft, Epoch, LogicalCloudUid, Serial};
use crate::name::{ProjectName, UserName};
use crate::render;
use crate::{app_context, plan};

fn cloud(spec: &serde_json::Value) -> LogicalCloud {
    let draft: Draft = serde_json::from_value(json!({"metadata": {"name": "c"}, "spec": spec})).unwrap();
    let project = ProjectName::new("p").unwrap();
    LogicalCloud::new(project, LogicalCloudUid::from_random(1), draft).unwrap().0
}

fn everything() -> LogicalCloud {
    let rule = |name: &str| json!({"name": name, "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
    let mut wide = rule("wide");
    wide["clusterWide"] = true.into();
    cloud(&json!({
        "level": "privileged",
        "users": [{"name": "ann"}, {"name": "ci", "type": "token"}],
        "permissions": [rule("look"), wide],
        "quotas": [{"name": "q", "hard": {"limits.cpu": "1"}}],
        "manifests": [{"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "n"},
            "spec": {"podSelector": {}}}],
        "serviceMesh": {},
    }))
}

fn has(needs: &Needs, verb: &str, group: &str, resource: &str) -> bool {
    needs.accesses().any(|one| (&*one.verb, &*one.group, &*one.resource) == (verb, group, resource))
}

#[test]
fn each_rendered_kind_may_be_made_followed_changed_and_removed() {
    let cloud = everything();
    let needs = Needs::of_cloud(&cloud);
    let credentials = ["ann", "ci"].map(|user| {
        let accounts = AccountSeed::from_random(1);
        let credential = render::Credential { epoch: Epoch(1), serial: Serial(1), request: None, accounts };
        (UserName::new(user).unwrap(), credential)
    });
    let bundle = render::bundle(&cloud, &credentials.into()).unwrap();
    let mut kinds = BTreeSet::new();
    for step in bundle.steps() {
        if let app_context::Action::Apply { manifest, .. } = &step.action {
            kinds.insert(manifest.kind().clone());
        }
    }
    assert_eq!(kinds.len(), 13, "{kinds:?}");
    for kind in kinds {
        for verb in VERBS {
            assert!(has(&needs, verb, &kind.group, &resources::guess(&kind.kind)), "{verb} {kind}");
        }
    }
    let request = app_context::CertificateRequest {
        object_name: "r".into(),
        csr_pem: "".into(),
        signer: SIGNER.into(),
        lifetime_seconds: None,
    };
    let kind = plan::certificate_manifest(&request).unwrap().kind().clone();
    assert!(REQUEST_VERBS.iter().all(|verb| has(&needs, verb, &kind.group, &resources::guess(&kind.kind))));
}

#[test]
fn only_a_cloud_with_rights_in_the_whole_cluster_needs_cluster_roles() {
    let roles = |needs: &Needs| has(needs, "create", RBAC, "clusterroles");
    assert!(roles(&Needs::of_cloud(&everything())) && roles(&Needs::of_level(Level::Privileged)));
    assert!(!roles(&Needs::of_level(Level::Standard)));
    assert!(!roles(&Needs::of_cloud(&cloud(&json!({"level": "privileged"})))));
    let admin = Needs::of_level(Level::Admin);
    assert_eq!(admin.accesses().count(), 1);
    assert!(has(&admin, "get", "", "namespaces"));
}

#[test]
fn the_least_role_of_standard_clouds_is_this() {
    let needs = Needs::of_level(Level::Standard);
    let role = serde_json::to_value(cluster_role("dcm", rules(needs.accesses()))).unwrap();
    let all = json!(["create", "delete", "get", "list", "patch", "update", "watch"]);
    let roles = json!(["bind", "create", "delete", "escalate", "get", "list", "patch", "update", "watch"]);
    let expected = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "dcm"},
        "rules": [
            {"apiGroups": [""], "resources": ["limitranges", "namespaces", "resourcequotas", "serviceaccounts"],
             "verbs": all},
            {"apiGroups": [CERTIFICATES], "resources": ["certificatesigningrequests"],
             "verbs": ["create", "delete", "get", "list", "watch"]},
            {"apiGroups": [CERTIFICATES], "resources": ["certificatesigningrequests/approval"], "verbs": ["patch"]},
            {"apiGroups": [CERTIFICATES], "resources": ["signers"], "verbs": ["approve"], "resourceNames": [SIGNER]},
            {"apiGroups": [RBAC], "resources": ["roles"], "verbs": roles},
            {"apiGroups": [RBAC], "resources": ["rolebindings"], "verbs": all},
            {"apiGroups": [RBAC], "resources": ["clusterrolebindings", "clusterroles"], "verbs": ["list"]},
            {"apiGroups": [RBAC], "resources": ["clusterroles"], "verbs": ["bind", "get"], "resourceNames": [NAMESPACE_ROLE]},
        ],
    });
    assert_eq!(role, expected);
}

#[test]
fn nothing_missing_is_no_rule_and_one_missing_access_is_one() {
    assert_eq!(rules([]), []);
    let one = Access::new("watch", RBAC, "roles");
    let rules = rules([&one]);
    assert_eq!(rules.len(), 1);
    assert_eq!(rules[0].verbs, ["watch"]);
}

#[test]
fn the_resource_of_a_kind_of_others_is_a_guess_until_a_cluster_or_a_definition_tells_it() {
    let object =
        |kind: &str| json!({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "one"}});
    let document = |manifests: &[serde_json::Value]| cloud(&json!({"manifests": manifests}));
    let needs = Needs::of_cloud(&document(&[object("Box"), object("Relay")]));
    let guesses: Vec<String> = needs.guesses().into_iter().map(|guess| guess.resource).collect();
    assert_eq!(guesses, ["boxs.example.com", "relaies.example.com"]);
    assert!(has(&needs, "create", "example.com", "boxs"));
    let served = resources::ServedResource {
        group: "example.com".into(),
        version: "v1beta1".into(),
        kind: "Box".into(),
        name: "boxes".into(),
        is_namespaced: true,
        verbs: BTreeSet::new(),
    };
    let needs = needs.on(&Resources { served: vec![served], ..Resources::default() });
    assert!(has(&needs, "create", "example.com", "boxes") && !has(&needs, "create", "example.com", "boxs"));
    let left: Vec<String> = needs.guesses().into_iter().map(|guess| guess.kind).collect();
    assert_eq!(left, ["example.com/v1 Relay"]);
}

#[test]
fn a_version_is_read_where_it_can_be() {
    for (version, minor) in
        [("v1.36.3", Some(36)), ("v1.21+", Some(21)), ("v1.30.2-gke.100", Some(30)), ("odd", None)]
    {
        assert_eq!(minor_version(version), minor, "{version}");
    }
}

#[test]
fn a_clock_is_ahead_or_behind_only_outside_the_time_of_the_answer() {
    let at = |millis| Timestamp::from_millisecond(millis).unwrap();
    for (told, expected) in [(10_000, 0), (9_000, 0), (13_000, 2), (4_000, -5)] {
        assert_eq!(skew(at(told), at(10_500), at(11_000)).as_secs(), expected, "{told}");
    }
}
