use serde_json::{Value, json};

use super::*;
use crate::port::cluster::Error;
use crate::port::resources::ServedResource;

fn resource(group: &str, name: &str, kind: &str, is_namespaced: bool, verbs: &str) -> ServedResource {
    ServedResource {
        group: group.into(),
        version: "v1".into(),
        kind: kind.into(),
        name: name.into(),
        is_namespaced,
        verbs: verbs.split_whitespace().map(Into::into).collect(),
    }
}

fn resources() -> Resources {
    let all = "create delete deletecollection get list patch update watch";
    Resources {
        served: vec![
            resource("", "pods", "Pod", true, all),
            resource("", "pods/log", "Pod", true, "get"),
            resource("", "pods/exec", "PodExecOptions", true, "create get"),
            resource("", "namespaces", "Namespace", false, all),
            resource("", "nodes", "Node", false, all),
            resource("", "componentstatuses", "ComponentStatus", false, "get list"),
            resource("apps", "deployments", "Deployment", true, all),
            resource("apps", "deployments/scale", "Scale", true, "get patch update"),
            resource("example.com", "boxes", "Box", true, all),
            resource("example.com", "meshes", "Mesh", false, all),
            resource("metrics.k8s.io", "pods", "PodMetrics", true, "get list"),
            resource("custom.metrics.k8s.io", "namespaces/queue", "MetricValueList", false, "get"),
        ],
        unseen: [("away.example.com".into(), Error::NotFound)].into(),
    }
}

fn shown(body: Value) -> Vec<String> {
    let found = without_effect(&Manifest::new(body).unwrap(), &resources());
    found.iter().map(ToString::to_string).collect()
}

fn role(kind: &str, rule: &Value) -> Vec<String> {
    let namespace = if kind == "Role" { json!("shop") } else { Value::Null };
    let mut body = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
        "metadata": {"name": "r"}, "rules": [rule]});
    if !namespace.is_null() {
        body["metadata"]["namespace"] = namespace;
    }
    shown(body)
}

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": groups, "resources": resources, "verbs": verbs})
}

#[test]
fn a_rule_that_permits_nothing_on_a_cluster_is_told_with_its_reason() {
    for (rule, expected) in [
        (
            rule(&["example.org"], &["boxes"], &["get"]),
            "the cluster does not serve the API group example.org",
        ),
        (
            rule(&["example.com"], &["boxs"], &["get"]),
            "the cluster does not serve boxs.example.com; it serves boxes.example.com",
        ),
        (
            rule(&["example.com"], &["Box"], &["*"]),
            "the cluster does not serve Box.example.com; it serves boxes.example.com",
        ),
        (
            rule(&[""], &["deployments"], &["get"]),
            "the cluster does not serve deployments; it serves deployments.apps",
        ),
        (rule(&[""], &["pods", "pods/logs"], &["get"]), "the cluster does not serve pods/logs"),
        (rule(&[""], &["pods/log"], &["get", "list"]), "pods/log can't be asked to list"),
        (rule(&[""], &["pods", "pods/log"], &["list"]), "pods/log can't be asked for any of the verbs"),
        (rule(&["apps"], &["deployments"], &["read"]), "deployments can't be asked to read"),
        (rule(&["metrics.k8s.io"], &["pods"], &["get", "delete"]), "pods can't be asked to delete"),
        (rule(&[""], &["nodes"], &["get"]), "nodes are in no namespace, so a Role never permits them"),
        (
            rule(&["example.com"], &["meshes"], &["*"]),
            "meshes are in no namespace, so a Role never permits them",
        ),
    ] {
        let found = role("Role", &rule);
        assert!(found.len() == 1 && found[0].starts_with("rules[0]: "), "{rule}: {found:?}");
        assert!(
            found[0].ends_with(expected) || found[0].contains(&format!("{expected}; it serves")),
            "{rule}: {found:?}"
        );
    }
    let named = |resources: &[&str], verbs: &[&str]| {
        let mut rule = rule(&[""], resources, verbs);
        rule["resourceNames"] = json!(["one"]);
        role("Role", &rule)
    };
    let post = "rules[0]: pods: with resourceNames, a POST is never permitted, as it names no object";
    assert_eq!(named(&["pods", "pods/exec"], &["create", "get"]), [post]);
    let applied = format!("{post}, only server-side apply and PUT can create");
    assert_eq!(named(&["pods"], &["create", "patch"]), [applied]);
    let deleted = "rules[0]: pods: with resourceNames, deletecollection is never permitted";
    assert_eq!(named(&["pods"], &["deletecollection", "get"]), [deleted]);
    assert_eq!(named(&["pods/exec"], &["create"]), Vec::<String>::new());
}

#[test]
fn a_rule_that_permits_something_or_is_not_known_is_not_told_of() {
    for rule in [
        rule(&["*"], &["*"], &["*"]),
        rule(&["", "apps"], &["pods", "deployments"], &["get", "list"]),
        rule(&[""], &["pods", "pods/log", "pods/exec"], &["get", "create"]),
        rule(&["apps"], &["deployments", "deployments/scale"], &["*"]),
        rule(&[""], &["namespaces"], &["get"]),
        rule(&["example.com"], &["boxes"], &["get", "inspect"]),
        rule(&["example.com"], &["*"], &["get"]),
        rule(&[""], &["users", "groups"], &["impersonate"]),
        rule(&["away.example.com"], &["whatever"], &["get"]),
        rule(&["custom.metrics.k8s.io"], &["pods/queue"], &["get"]),
        rule(&["external.metrics.k8s.io"], &["queue"], &["get"]),
        rule(&["extensions", "apps"], &["deployments"], &["get"]),
        rule(&["apps"], &["deployments/finalizers"], &["update"]),
        rule(&["example.com"], &["boxes/finalizers", "boxes/lid"], &["update"]),
        rule(&["*"], &["widgets"], &["get"]),
        rule(&["rbac.authorization.k8s.io"], &["clusterroles"], &["bind"]),
        rule(&["security.openshift.io"], &["securitycontextconstraints"], &["use"]),
        rule(&[""], &["users", "pods"], &["impersonate", "get"]),
        json!({"nonResourceURLs": ["/metrics"], "verbs": ["get"]}),
    ] {
        assert_eq!(role("Role", &rule), Vec::<String>::new(), "{rule}");
    }
    for rule in [
        rule(&[""], &["nodes", "nodes/metrics"], &["get"]),
        rule(&["example.com"], &["meshes"], &["get"]),
        rule(&["certificates.k8s.io"], &["signers"], &["approve"]),
    ] {
        let found = role("ClusterRole", &rule);
        assert!(found.iter().all(|one| one.contains("API group certificates")), "{rule}: {found:?}");
    }
}

#[test]
fn a_quota_by_which_nothing_is_counted_is_told() {
    let quota = |key: &str| {
        shown(
            json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "shop"},
            "spec": {"hard": {key: "1"}}}),
        )
    };
    for (key, expected) in [
        (
            "count/boxs.example.com",
            "nothing is counted, as the cluster does not serve boxs.example.com; it serves boxes.example.com",
        ),
        (
            "count/box.example.com",
            "nothing is counted, as the cluster does not serve box.example.com; it serves boxes.example.com",
        ),
        (
            "count/volumesnapshots.snapshot.storage.k8s.io",
            "nothing is counted, as the cluster does not serve volumesnapshots.snapshot.storage.k8s.io",
        ),
        (
            "count/deployments.extensions",
            "nothing is counted, as the cluster does not serve deployments.extensions; it serves deployments.apps",
        ),
        ("count/meshes.example.com", "nothing is counted, as these objects are in no namespace"),
        (
            "count/pods.metrics.k8s.io",
            "nothing is counted, as pods.metrics.k8s.io can't be listed and followed",
        ),
        (
            "gpu.deviceclass.resource.k8s.io/devices",
            "nothing is counted, as the cluster does not serve the API group resource.k8s.io",
        ),
    ] {
        assert_eq!(quota(key), [format!("spec.hard.{key}: {expected}")]);
    }
    for key in [
        "count/boxes.example.com",
        "count/pods",
        "limits.cpu",
        "requests.nvidia.com/gpu",
        "count/x.away.example.com",
    ] {
        assert_eq!(quota(key), Vec::<String>::new(), "{key}");
    }
}

#[test]
fn only_roles_and_quotas_depend_on_what_is_served() {
    let body =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}});
    assert!(!depends_on_resources(&Manifest::new(body).unwrap()));
}
