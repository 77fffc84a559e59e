//! Tests of whole logical clouds.

#![allow(clippy::needless_pass_by_value, reason = "specifications are written in place")]

use serde_json::{Value, json};

use super::*;
use crate::app_context::{Drift, Existing};
use crate::manifest::GroupVersionKind;
use crate::name::ProjectName;
use crate::port::synchronizer::Disposal;
use crate::refusal::{Refusals, Warning};

fn make(spec: Value) -> Result<(LogicalCloud, Vec<Warning>), Refusals> {
    named("lc-1", spec)
}

fn named(name: &str, spec: Value) -> Result<(LogicalCloud, Vec<Warning>), Refusals> {
    let draft = serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap();
    LogicalCloud::new(ProjectName::new("p").unwrap(), LogicalCloudUid::from_random(1), draft)
}

fn paths(spec: Value) -> Vec<String> {
    make(spec).unwrap_err().into_iter().map(|refusal| refusal.path).collect()
}

fn permission(name: &str) -> Value {
    json!({"name": name, "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]})
}

fn with(mut object: Value, member: &str, value: Value) -> Value {
    object[member] = value;
    object
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let found = paths(json!({
        "namespace": "Team_A",
        "level": "2",
        "objectPolicies": {
            "Namespace": {"existing": "take"},
            "Role": {"drift": "ignore", "reportOnly": ["rules", "a..b"]},
            "ResourceQuota": {"drift": "report", "reportOnly": ["spec.hard"]},
            "role": {},
            "Role.": {},
        },
        "labels": {"tier": "a b", "dcm.internal/owner": "me"},
        "users": [{"name": "ann", "type": "UNPW"}, {"name": "ann", "lifetimeSeconds": 5}],
        "permissions": [with(permission("p"), "users", json!(["bob"]))],
        "quotas": [{"name": "q", "hard": {"cpu": "lots"}}],
        "clusters": [{"name": "r", "provider": "p", "cluster": "c", "loadBalancer": "here"}],
    }));
    let wanted = [
        "spec.users[1].name",
        "spec.permissions[0].users[0]",
        "spec.namespace",
        "spec.level",
        r#"spec.objectPolicies["Namespace"].existing"#,
        r#"spec.objectPolicies["ResourceQuota"].reportOnly"#,
        r#"spec.objectPolicies["Role"].reportOnly[1]"#,
        r#"spec.objectPolicies["Role"].drift"#,
        r#"spec.objectPolicies["Role."]"#,
        r#"spec.objectPolicies["role"]"#,
        r#"spec.labels["dcm.internal/owner"]"#,
        r#"spec.labels["tier"]"#,
        "spec.users[0].type",
        "spec.users[1].lifetimeSeconds",
        r#"spec.quotas[0].hard["cpu"]"#,
        "spec.clusters[0].loadBalancer",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn the_namespace_is_the_clouds_name_where_that_is_legal() {
    let (cloud, _) = make(json!({})).unwrap();
    assert_eq!(cloud.namespace().unwrap().as_str(), "lc-1");
    let refused = named("Lc_1", json!({})).unwrap_err();
    assert_eq!(refused.as_slice()[0].path, "spec.namespace");
    assert!(refused.to_string().contains("must be given"), "{refused}");
    assert!(named("Lc_1", json!({"namespace": "lc-1"})).is_ok());
}

#[test]
fn the_clusters_own_namespaces_are_refused() {
    for namespace in ["default", "kube-system", "kube-public"] {
        assert_eq!(paths(json!({"namespace": namespace})), ["spec.namespace"]);
    }
    assert!(named("default", json!({})).is_err());
    assert!(make(json!({"namespace": "kubernetes"})).is_ok());
}

#[test]
fn permissions_that_leave_the_namespace_need_a_privileged_cloud() {
    let elsewhere = with(permission("a"), "namespace", json!("other"));
    let everywhere = with(permission("b"), "clusterWide", json!(true));
    let own = with(permission("c"), "namespace", json!("lc-1"));
    let all = json!([elsewhere, everywhere, own]);
    let refused = paths(json!({"level": "standard", "permissions": all}));
    assert_eq!(refused, ["spec.permissions[0].namespace", "spec.permissions[1].clusterWide"]);
    let (cloud, _) = make(json!({"level": "privileged", "permissions": all})).unwrap();
    assert_eq!(
        cloud.permissions()[2].scope,
        Scope::CloudNamespace,
        "its own namespace by name is its own namespace"
    );
}

#[test]
fn emcos_levels_are_read() {
    let level = |spec: Value| make(spec).unwrap().0.level();
    assert_eq!(level(json!({"level": "0"})), Level::Admin);
    assert_eq!(level(json!({"level": "1", "permissions": [permission("p")]})), Level::Standard);
    let leaving = with(permission("p"), "clusterWide", json!(true));
    assert_eq!(level(json!({"level": "1", "permissions": [leaving]})), Level::Privileged);
}

#[test]
fn an_admin_cloud_has_nothing_that_would_change_a_cluster() {
    let refused = paths(json!({
        "level": "admin", "namespace": "n", "users": [{"name": "u"}], "permissions": [permission("p")],
        "quotas": [{"name": "q", "hard": {"pods": 1}}], "labels": {"a": "b"},
        "manifests": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}],
    }));
    let wanted = ["namespace", "labels", "users", "permissions", "quotas", "manifests"];
    assert_eq!(refused, wanted.map(|field| format!("spec.{field}")));
    let (cloud, warnings) = named("Default", json!({"level": "admin"})).unwrap();
    assert_eq!(cloud.namespace(), None);
    assert_eq!(warnings.len(), 1, "a quota is not missed in an admin cloud");
}

#[test]
fn a_cluster_is_referred_to_once() {
    let refused = paths(json!({"clusters": [
        {"name": "a", "provider": "p", "cluster": "c"},
        {"name": "b", "provider": "p", "cluster": "c"},
        {"name": "a", "provider": "p", "cluster": "d"},
    ]}));
    assert_eq!(refused, ["spec.clusters[2].name", "spec.clusters[1].cluster"]);
}

#[test]
fn a_list_over_its_limit_is_refused_as_a_whole() {
    let users: Vec<Value> = (0..=limits::USERS_MAX).map(|n| json!({"name": format!("u{n}")})).collect();
    assert_eq!(paths(json!({"users": users})), ["spec.users"]);
}

#[test]
fn extra_manifests_come_into_the_clouds_namespace() {
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}});
    let (cloud, _) = make(json!({"manifests": [config]})).unwrap();
    assert_eq!(cloud.manifests()[0].key().to_string(), "ConfigMap lc-1/c");
    let elsewhere =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "other"}});
    assert_eq!(
        paths(json!({"manifests": [config, elsewhere, config]})),
        ["spec.manifests[1].metadata.namespace", "spec.manifests[2]",]
    );
}

#[test]
fn an_implausible_quantity_is_warned_of_and_one_of_nothing_is_not() {
    for (key, amount, is_warned) in [
        ("limits.memory", json!("512"), true),
        ("requests.memory", json!(128), true),
        ("memory", json!("100m"), true),
        ("requests.storage", json!("10k"), true),
        ("gold.storageclass.storage.k8s.io/requests.storage", json!("100"), true),
        ("limits.ephemeral-storage", json!("1"), true),
        ("limits.cpu", json!("500u"), true),
        ("limits.memory", json!("1Mi"), false),
        ("limits.memory", json!(0), false),
        ("limits.cpu", json!("1m"), false),
        ("pods", json!(1), false),
        ("requests.nvidia.com/gpu", json!(1), false),
    ] {
        let quota = json!({"name": "q", "hard": {key: amount}});
        let (_, warnings) = make(json!({"quotas": [quota]})).unwrap();
        let found = warnings.iter().any(|warning| warning.path.starts_with("spec.quotas[0].hard"));
        assert_eq!(found, is_warned, "{key}: {amount}: {warnings:?}");
    }
}

#[test]
fn a_status_in_a_manifest_is_left_out_and_warned_of_where_it_holds_something() {
    let config = |status: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "status": status});
    for (status, is_warned) in [
        (json!({}), false),
        (json!(null), false),
        (json!({"conditions": []}), false),
        (json!({"replicas": 2}), true),
        (json!({"conditions": [{"type": "Ready"}]}), true),
        (json!("Bound"), true),
    ] {
        let (cloud, warnings) = make(json!({"manifests": [config(status.clone())]})).unwrap();
        assert!(cloud.manifests()[0].body().get("status").is_none(), "{status}");
        let found = warnings.iter().any(|warning| warning.path == "spec.manifests[0].status");
        assert_eq!(found, is_warned, "{status}");
    }
}

#[test]
fn extra_manifests_give_no_rights_and_break_out_of_nothing() {
    let of = |api: &str, kind: &str| json!({"apiVersion": api, "kind": kind, "metadata": {"name": "x"}});
    let rbac = "rbac.authorization.k8s.io/v1";
    for (api, kind, privileged) in [
        ("v1", "Namespace", false),
        (rbac, "ClusterRole", false),
        ("certificates.k8s.io/v1", "CertificateSigningRequest", false),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", false),
        ("v1", "Secret", false),
        (rbac, "Role", true),
        (rbac, "RoleBinding", true),
        ("v1", "ResourceQuota", true),
        ("v1", "LimitRange", true),
    ] {
        let spec = |level: &str| json!({"level": level, "manifests": [of(api, kind)]});
        assert_eq!(paths(spec("standard")), ["spec.manifests[0].kind"], "{kind}");
        assert_eq!(make(spec("privileged")).is_ok(), privileged, "{kind}");
    }
}

#[test]
fn what_is_perhaps_not_meant_is_a_warning() {
    let all =
        json!({"name": "all", "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"], "users": ["ann"]});
    let robot = json!({"name": "robot", "type": "token"});
    let wide = with(with(permission("wide"), "clusterWide", json!(true)), "users", json!(["robot"]));
    let (_, warnings) = make(json!({
        "level": "privileged",
        "users": [{"name": "ann"}, {"name": "bob"}, robot],
        "permissions": [all, with(wide, "verbs", json!(["lists"]))],
        "quotas": [{"name": "q", "hard": {"pods": "5"}}],
    }))
    .unwrap();
    let found: Vec<&str> = warnings.iter().map(|warning| warning.path.as_str()).collect();
    let wanted = [
        "spec.clusters",
        "spec.users[1]",
        "spec.users[2]",
        "spec.permissions[0]",
        "spec.permissions[1].verbs[0]",
    ];
    assert_eq!(found, wanted);
    let (_, warnings) = make(json!({})).unwrap();
    assert!(warnings.iter().any(|warning| warning.path == "spec.quotas"));
}

#[test]
fn the_order_of_lists_means_nothing_and_storage_goes_through_the_rules() {
    let users = [json!({"name": "ann"}), json!({"name": "bob", "type": "token", "lifetimeSeconds": 700})];
    let quotas = [json!({"name": "q", "hard": {"cpu": "1000m"}}), json!({"name": "a", "hard": {"pods": 1}})];
    let pairs = json!([{"name": "kv", "kv": [{"b": 1}, {"a": {"c": [null]}}]}]);
    let spec = |order: [usize; 2]| {
        json!({
            "users": order.map(|n| users[n].clone()),
            "quotas": order.map(|n| quotas[n].clone()),
            "permissions": [with(permission("p"), "users", json!(order.map(|n| users[n]["name"].clone())))],
            "keyValues": pairs,
            "objectPolicies": {
                "Namespace": {"existing": "adopt"},
                "Role": {"drift": "report"},
                "Role/reader": {"existing": "adopt"},
                "Secret/s": {"drift": "report"},
                "Role.rbac.authorization.k8s.io": {"existing": "overwrite", "drift": "correct", "reportOnly": ["rules"]},
            },
            "removal": {"objects": "keep", "deadlineSeconds": 90},
            "containerDefaults": {"requests": {"cpu": "0.1"}, "limits": {"cpu": 1, "memory": "0"}},
        })
    };
    let (one, _) = make(spec([0, 1])).unwrap();
    let (other, _) = make(spec([1, 0])).unwrap();
    assert_eq!(one, other);
    let of = |group: &str, kind: &str, name: &str| {
        one.object_policies().of(&GroupVersionKind::new(group, "v1", kind), name)
    };
    let policy = |group: &str, kind: &str| of(group, kind, "o");
    assert_eq!(policy("", "Namespace").existing, Existing::Adopt);
    assert_eq!(
        (policy("", "Role").drift, policy("x.io", "Role").existing),
        (Drift::Report, Existing::Refuse)
    );
    let named = policy("rbac.authorization.k8s.io", "Role");
    assert_eq!(named.existing, Existing::Overwrite);
    assert_eq!(named.drift, Drift::Correct { except: ["rules".parse().unwrap()].into() });
    assert_eq!(policy("", "Secret"), ObjectPolicy::default());
    assert_eq!(of("", "Secret", "s").drift, Drift::Report);
    assert_eq!(of("rbac.authorization.k8s.io", "Role", "reader").existing, Existing::Adopt);
    assert_eq!((one.removal().objects, one.removal().deadline_seconds), (Some(Disposal::Keep), Some(90)));
    let mut stored = serde_json::to_value(&one).unwrap();
    assert_eq!(serde_json::from_value::<LogicalCloud>(stored.clone()).unwrap(), one);
    let again = LogicalCloud::new(one.project().clone(), one.uid(), one.to_draft()).unwrap().0;
    assert_eq!(again, one);
    stored["spec"]["users"][0]["name"] = json!("not a name");
    assert!(serde_json::from_value::<LogicalCloud>(stored).is_err());
}

#[test]
fn unknown_fields_are_refused_when_a_draft_is_read() {
    let read = serde_json::from_value::<Draft>(json!({"spec": {"quotas": [{"name": "q", "hards": {}}]}}));
    assert!(read.unwrap_err().to_string().contains("hards"));
}

#[test]
fn a_cloud_on_clusters_keeps_its_namespace_and_its_kind() {
    let cloud = |spec: Value| make(spec).unwrap().0;
    let applied = cloud(json!({}));
    let check = |edited: Value| life_cycle::fixed_while_applied(&applied, &cloud(edited));
    assert_eq!(check(json!({"users": [{"name": "new"}]})), Ok(()));
    assert_eq!(check(json!({"level": "privileged"})), Ok(()));
    assert_eq!(check(json!({"namespace": "other"})).unwrap_err().as_slice()[0].path, "spec.namespace");
    assert_eq!(check(json!({"level": "admin"})).unwrap_err().as_slice()[0].path, "spec.level");
}

#[test]
#[allow(
    clippy::disallowed_methods,
    reason = "two times are compared: a product of all parts takes thousands of times as long"
)]
fn a_draft_that_is_refused_for_its_size_is_refused_at_once() {
    let users: Vec<Value> = (0..20_000).map(|number| json!({"name": format!("u{number}")})).collect();
    let holders: Vec<String> = (0..20).map(|number| format!("nobody{number}")).collect();
    let one = |number| with(permission(&format!("p{number}")), "users", json!(holders));
    let permissions: Vec<Value> = (0..20_000).map(one).collect();
    let spec = json!({"users": users, "permissions": permissions});
    let started = std::time::Instant::now();
    let draft = serde_json::from_value(json!({"metadata": {"name": "lc-1"}, "spec": spec})).unwrap();
    let read = started.elapsed();
    let made = LogicalCloud::new(ProjectName::new("p").unwrap(), LogicalCloudUid::from_random(1), draft);
    let checked = started.elapsed() - read;
    let found: Vec<String> = made.unwrap_err().into_iter().map(|refusal| refusal.path).collect();
    assert!(found.contains(&"spec.users".to_owned()), "{}", found.len());
    assert!(checked < read * 100, "{checked:?} to check what was read in {read:?}");
}

#[test]
fn a_policy_for_a_kind_that_is_not_made_is_a_warning() {
    let manifest = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}});
    let policies = json!({
        "Role": {}, "Role.rbac.authorization.k8s.io": {}, "Deployment.apps": {}, "Rolebinding": {}, "Deployment.x": {},
    });
    let spec = json!({"level": "privileged", "objectPolicies": policies, "manifests": [manifest]});
    let (_, warnings) = make(spec).unwrap();
    let paths = warnings.iter().map(|warning| warning.path.as_str());
    let found: Vec<&str> = paths.filter(|path| path.contains("Policies")).collect();
    assert_eq!(found, [r#"spec.objectPolicies["Deployment.x"]"#, r#"spec.objectPolicies["Rolebinding"]"#]);
}

#[test]
fn a_warning_about_a_user_counts_all_permissions_that_hold() {
    let outside = with(with(permission("p"), "clusterWide", json!(true)), "users", json!(["bot"]));
    let inside = with(permission("q"), "users", json!(["bot", "other"]));
    let users = json!([
        {"name": "bot", "type": "token"}, {"name": "other", "type": "token"}, {"name": "idle", "type": "token"},
    ]);
    let quotas = json!([{"name": "q", "hard": {"cpu": 1}}]);
    let (_, warnings) = make(json!({
        "level": "privileged", "users": users, "permissions": [outside, inside], "quotas": quotas,
    }))
    .unwrap();
    let found: Vec<(&str, &str)> =
        warnings.iter().map(|warning| (warning.path.as_str(), &warning.message[..19])).collect();
    let cluster = ("spec.clusters", "no cluster yet: an ");
    assert_eq!(
        found,
        [cluster, ("spec.users[0]", "may do things outsi"), ("spec.users[2]", "no permission holds")]
    );
}
