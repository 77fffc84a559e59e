//! What the API server adds to an object, and how it writes what it was given: as far as comparison with a manifest
//! can see it, for the kinds that logical clouds are rendered to and for Deployments.

use serde_json::{Map, Value, json};

use crate::manifest::GroupVersionKind;
use crate::quantity::Quantity;

/// The API group of roles and their bindings.
const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// A value that is no quantity, where one belongs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no quantity")]
pub struct NoQuantity(String);

/// Fills in defaults and writes quantities in their canonical form. Of other kinds nothing is known: they stay as they
/// are, but for what is empty.
///
/// # Errors
/// [`NoQuantity`]: the API server would refuse the object.
pub fn fill(kind: &GroupVersionKind, body: &mut Value) -> Result<(), NoQuantity> {
    drop_nulls(body);
    match &*kind.kind {
        "Namespace" => namespace(body),
        "RoleBinding" | "ClusterRoleBinding" => binding(body),
        "ResourceQuota" => quantities(member(member(body, "spec"), "hard"))?,
        "LimitRange" => limits(body)?,
        "NetworkPolicy" => network_policy(body),
        "Deployment" => deployment(body)?,
        _ => {}
    }
    drop_nulls(body);
    drop_empty(kind, body);
    Ok(())
}

/// Lists and maps that Kubernetes does not write when they are empty.
const UNWRITTEN: [&str; 11] = [
    "/metadata/labels",
    "/metadata/annotations",
    "/metadata/finalizers",
    "/data",
    "/binaryData",
    "/secrets",
    "/imagePullSecrets",
    "/subjects",
    "/spec/hard",
    "/spec/ingress",
    "/spec/egress",
];

/// What is empty is not written, or written as null: so it is compared with a manifest.
fn drop_empty(kind: &GroupVersionKind, body: &mut Value) {
    for path in UNWRITTEN {
        if let Some((parent, name)) = path.rsplit_once('/') {
            drop_if_empty(body.pointer_mut(parent), name);
        }
    }
    let list = match &*kind.kind {
        "Role" | "ClusterRole" => member(body, "rules"),
        "LimitRange" => member(member(body, "spec"), "limits"),
        _ => return,
    };
    if list.as_array().is_none_or(Vec::is_empty) {
        *list = Value::Null;
    }
    for item in items(list) {
        let names: Vec<String> = item.as_object().into_iter().flat_map(Map::keys).cloned().collect();
        names.iter().for_each(|name| drop_if_empty(Some(item), name));
    }
}

fn drop_if_empty(parent: Option<&mut Value>, name: &str) {
    let Some(members) = parent.and_then(Value::as_object_mut) else { return };
    let is_empty = match members.get(name) {
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(members)) => members.is_empty(),
        _ => false,
    };
    if is_empty {
        members.remove(name);
    }
}

/// Null says *not set*; it is not stored.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// A member, made when it is missing. What is no map becomes one: the shapes that matter were checked before.
fn member<'a>(value: &'a mut Value, name: &str) -> &'a mut Value {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    &mut value[name]
}

/// Adds members that are missing.
fn or_insert(object: &mut Value, members: &Value) {
    for (name, value) in members.as_object().into_iter().flatten() {
        let slot = member(object, name);
        if slot.is_null() {
            *slot = value.clone();
        }
    }
}

fn namespace(body: &mut Value) {
    let name = body["metadata"]["name"].clone();
    *member(member(member(body, "metadata"), "labels"), "kubernetes.io/metadata.name") = name;
    or_insert(member(body, "spec"), &json!({"finalizers": ["kubernetes"]}));
    or_insert(member(body, "status"), &json!({"phase": "Active"}));
}

fn binding(body: &mut Value) {
    or_insert(member(body, "roleRef"), &json!({"apiGroup": RBAC_GROUP}));
    for subject in items(member(body, "subjects")) {
        if subject["kind"] != "ServiceAccount" {
            or_insert(subject, &json!({"apiGroup": RBAC_GROUP}));
        }
    }
}

fn limits(body: &mut Value) -> Result<(), NoQuantity> {
    for limit in items(member(member(body, "spec"), "limits")) {
        for bound in ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] {
            quantities(member(limit, bound))?;
        }
        if limit["type"] == "Container" {
            let (max, min) = (limit["max"].clone(), limit["min"].clone());
            or_insert(member(limit, "default"), &max);
            let default = limit["default"].clone();
            or_insert(member(limit, "defaultRequest"), &default);
            or_insert(member(limit, "defaultRequest"), &min);
        }
    }
    Ok(())
}

fn network_policy(body: &mut Value) {
    let mut types = vec!["Ingress"];
    if body["spec"]["egress"].as_array().is_some_and(|rules| !rules.is_empty()) {
        types.push("Egress");
    }
    or_insert(member(body, "spec"), &json!({"podSelector": {}, "policyTypes": types}));
    for direction in ["ingress", "egress"] {
        for rule in items(member(member(body, "spec"), direction)) {
            ["from", "to", "ports"].iter().for_each(|name| drop_if_empty(Some(rule), name));
            for port in items(member(rule, "ports")) {
                or_insert(port, &json!({"protocol": "TCP"}));
            }
        }
    }
}

fn deployment(body: &mut Value) -> Result<(), NoQuantity> {
    let spec = member(body, "spec");
    let rolling = json!({"maxSurge": "25%", "maxUnavailable": "25%"});
    or_insert(spec, &json!({"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}));
    or_insert(member(spec, "strategy"), &json!({"type": "RollingUpdate"}));
    if spec["strategy"]["type"] == "RollingUpdate" {
        or_insert(member(member(spec, "strategy"), "rollingUpdate"), &rolling);
    }
    let pod = member(member(spec, "template"), "spec");
    or_insert(
        pod,
        &json!({
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "securityContext": {},
            "schedulerName": "default-scheduler",
        }),
    );
    for list in ["containers", "initContainers"] {
        for container in items(member(pod, list)) {
            self::container(container)?;
        }
    }
    Ok(())
}

fn container(container: &mut Value) -> Result<(), NoQuantity> {
    let image = container["image"].as_str().unwrap_or_default();
    let name = image.rsplit('/').next().unwrap_or_default();
    let is_latest = name.ends_with(":latest") || !name.contains([':', '@']);
    let pull = if is_latest { "Always" } else { "IfNotPresent" };
    or_insert(
        container,
        &json!({
            "imagePullPolicy": pull,
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "resources": {},
        }),
    );
    for port in items(member(container, "ports")) {
        or_insert(port, &json!({"protocol": "TCP"}));
    }
    quantities(member(member(container, "resources"), "limits"))?;
    quantities(member(member(container, "resources"), "requests"))
}

/// Items of a list; none of anything else.
fn items(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    value.as_array_mut().into_iter().flatten().filter(|item| item.is_object())
}

fn quantities(resources: &mut Value) -> Result<(), NoQuantity> {
    for value in resources.as_object_mut().into_iter().flat_map(|members| members.values_mut()) {
        let text = match &*value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let quantity: Quantity = text.parse().map_err(|_| NoQuantity(text))?;
        *value = quantity.in_thousandths().to_string().into();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(kind: &str, mut body: Value) -> Value {
        assert_eq!(fill(&GroupVersionKind::new("", "v1", kind), &mut body), Ok(()));
        body
    }

    #[test]
    fn filling_twice_is_filling_once() {
        let container = json!({"name": "c", "image": "web:1", "resources": {"limits": {"cpu": "1000m"}}});
        let body = json!({"spec": {"template": {"spec": {"containers": [container]}}}});
        let once = filled("Deployment", body);
        assert_eq!(once["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"], "1");
        assert_eq!(filled("Deployment", once.clone()), once);
    }

    #[test]
    fn a_limit_range_defaults_from_its_bounds_as_kubernetes_does() {
        let limit =
            json!({"type": "Container", "max": {"cpu": "2000m"}, "min": {"cpu": "0.1", "memory": "1024Ki"}});
        let body = filled("LimitRange", json!({"spec": {"limits": [limit]}}));
        let expected = json!({
            "type": "Container",
            "max": {"cpu": "2"},
            "min": {"cpu": "100m", "memory": "1Mi"},
            "default": {"cpu": "2"},
            "defaultRequest": {"cpu": "2", "memory": "1Mi"},
        });
        assert_eq!(body["spec"]["limits"][0], expected);
    }

    #[test]
    fn subjects_and_role_references_get_their_group() {
        let body = filled(
            "RoleBinding",
            json!({
                "roleRef": {"kind": "Role", "name": "r"},
                "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": "n"}],
            }),
        );
        assert_eq!(body["roleRef"]["apiGroup"], RBAC_GROUP);
        assert_eq!(body["subjects"][0]["apiGroup"], RBAC_GROUP);
        assert_eq!(body["subjects"][1].get("apiGroup"), None);
    }

    #[test]
    fn a_network_policy_names_its_directions_and_protocols() {
        let body = filled(
            "NetworkPolicy",
            json!({"spec": {"podSelector": {}, "egress": [{"ports": [{"port": 53}]}]}}),
        );
        assert_eq!(body["spec"]["policyTypes"], json!(["Ingress", "Egress"]));
        assert_eq!(body["spec"]["egress"][0]["ports"][0]["protocol"], "TCP");
        assert_eq!(body["spec"].get("ingress"), None);
    }

    #[test]
    fn what_is_empty_is_not_written_or_is_null() {
        let role = filled("Role", json!({"rules": [], "metadata": {"labels": {}}}));
        assert_eq!(role, json!({"rules": null, "metadata": {}}));
        let rule = json!({"apiGroups": [""], "resources": ["pods"], "resourceNames": [], "verbs": ["get"]});
        let role = filled("Role", json!({"rules": [rule]}));
        assert_eq!(role["rules"], json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]));
        assert_eq!(filled("ResourceQuota", json!({"spec": {"hard": {}}})), json!({"spec": {}}));
        assert_eq!(filled("ConfigMap", json!({"data": {}})), json!({}));
        assert_eq!(filled("LimitRange", json!({})), json!({"spec": {"limits": null}}));
        assert_eq!(
            filled("NetworkPolicy", json!({"spec": {"egress": []}}))["spec"]["policyTypes"],
            json!(["Ingress"])
        );
    }
}
