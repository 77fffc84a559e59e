//! What is found lost or differing, and who is named for it.

use super::*;
use serde_json::json;

/// An entry of `managedFields`.
fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
    json!({"manager": manager, "operation": operation, "fieldsV1": fields})
}

/// An object with these managed fields.
fn managed(mut body: Value, entries: &[Value]) -> Value {
    body["metadata"]["managedFields"] = json!(entries);
    body
}

fn lost(live: &Value, desired: &Value) -> Vec<HeldField> {
    super::lost(live, &Ownership::read(live), desired)
}

fn altered(kind: &GroupVersionKind, live: &Value, desired: &Value) -> Option<(Vec<HeldField>, Value)> {
    super::altered(kind, live, &Ownership::read(live), desired)
}

fn texts(found: &[HeldField]) -> Vec<String> {
    found.iter().map(HeldField::to_string).collect()
}

fn quota(hard: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "n"}, "spec": {"hard": hard}})
}

fn of_kind(kind: &str) -> GroupVersionKind {
    GroupVersionKind::new("", "v1", kind)
}

#[test]
fn a_field_that_another_manager_took_is_lost_to_it() {
    let desired = quota(&json!({"pods": "10", "requests.cpu": "1000m"}));
    let ours = entry("dcm", "Update", &json!({"f:spec": {"f:hard": {".": {}, "f:requests.cpu": {}}}}));
    let theirs = entry("kubectl-edit", "Update", &json!({"f:spec": {"f:hard": {"f:pods": {}}}}));
    let live = managed(quota(&json!({"pods": "99", "requests.cpu": "1"})), &[ours, theirs]);
    assert_eq!(texts(&lost(&live, &desired)), ["spec.hard.pods is held by kubectl-edit"]);
}

#[test]
fn a_field_that_was_taken_under_the_name_of_whoever_was_not_recorded_is_lost_to_it() {
    let desired = quota(&json!({"pods": "10"}));
    let ours = entry("dcm", "Update", &json!({"f:spec": {"f:hard": {".": {}}}}));
    let theirs = entry(UNRECORDED, "Update", &json!({"f:spec": {"f:hard": {"f:pods": {}}}}));
    let live = managed(quota(&json!({"pods": "99"})), &[ours, theirs]);
    assert_eq!(texts(&lost(&live, &desired)), ["spec.hard.pods is held by before-first-apply"]);
}

#[test]
fn a_value_that_is_another_one_is_found_also_where_others_hold_the_field_beside_us() {
    let desired = quota(&json!({"pods": "10"}));
    let fields = json!({"f:spec": {"f:hard": {".": {}, "f:pods": {}}}});
    let both = [entry("dcm", "Update", &fields), entry("another", "Apply", &fields)];
    let live = managed(quota(&json!({"pods": "99"})), &both);
    assert_eq!(lost(&live, &desired), []);
    let (found, _) = altered(&of_kind("ResourceQuota"), &live, &desired).unwrap();
    assert_eq!(texts(&found), ["spec.hard.pods was changed under our own field manager"]);
}

#[test]
fn a_field_that_was_removed_is_lost_to_nobody_also_when_all_above_it_went() {
    let desired = quota(&json!({"pods": "10"}));
    for (fields, spec) in [
        (json!({"f:spec": {}}), json!({})),
        (json!({"f:metadata": {"f:labels": {"f:a": {}}}}), Value::Null),
        (json!({"f:spec": {"f:hard": {".": {}}}}), json!({"hard": {}})),
    ] {
        let mut body = quota(&json!({}));
        body["spec"] = spec;
        let found = lost(&managed(body, &[entry("dcm", "Apply", &fields)]), &desired);
        assert!(found.len() == 1 && found[0].holder.is_none(), "{fields}: {found:?}");
        assert!(found[0].path().covers(&"spec.hard.pods".parse().unwrap()), "{found:?}");
    }
}

#[test]
fn what_tells_nothing_or_says_nothing_is_not_lost() {
    let desired = quota(&json!({"pods": "10"}));
    assert_eq!(lost(&quota(&json!({"pods": "99"})), &desired), [], "no managed fields");
    let status = entry("kube-controller-manager", "Update", &json!({"f:status": {"f:hard": {"f:pods": {}}}}));
    let reset = managed(quota(&json!({"pods": "10"})), &[status]);
    assert_eq!(lost(&reset, &desired), [], "it is there, and nobody claims it");
    let empty = json!({"data": {}, "immutable": false, "list": [], "metadata": {"name": "c"}});
    let added =
        managed(json!({"data": {"a": "1"}}), &[entry("person", "Update", &json!({"f:data": {"f:a": {}}}))]);
    assert_eq!(lost(&added, &empty), [], "somebody put something into what is empty");
}

#[test]
fn a_list_without_keys_and_a_map_that_is_one_value_are_lost_as_a_whole() {
    let desired = json!({"rules": [{"verbs": ["get"]}], "selector": {"a": "b"}});
    let live = json!({"rules": [{"verbs": ["*"]}], "selector": {"c": "d"}});
    let whole = json!({"f:rules": {}, "f:selector": {}});
    assert_eq!(lost(&managed(live.clone(), &[entry("dcm", "Update", &whole)]), &desired), []);
    let taken =
        managed(live, &[entry("dcm", "Update", &json!({"f:x": {}})), entry("rancher", "Update", &whole)]);
    assert_eq!(texts(&lost(&taken, &desired)), ["rules is held by rancher", "selector is held by rancher"]);
}

#[test]
fn items_of_a_list_with_keys_are_lost_one_by_one() {
    let desired =
        json!({"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}], "finalizers": ["x", "y"]});
    let ours = json!({
        "f:ports": {"k:{\"port\":80}": {".": {}, "f:port": {}}},
        "f:finalizers": {"v:\"x\"": {}},
    });
    let theirs = json!({"f:ports": {"k:{\"port\":80}": {"f:name": {}}}});
    let live = json!({"ports": [{"port": 80, "name": "z"}], "finalizers": ["x"]});
    let live = managed(live, &[entry("dcm", "Apply", &ours), entry("person", "Update", &theirs)]);
    let found = lost(&live, &desired);
    assert_eq!(
        texts(&found),
        ["finalizers is held by nobody", "ports.name is held by person", "ports is held by nobody"]
    );
    let left = without(desired, &found);
    assert_eq!(left, json!({"ports": [{"port": 80}], "finalizers": ["x"]}));
}

#[test]
fn values_are_compared_as_the_api_server_would_store_them() {
    let desired = quota(&json!({"requests.cpu": "1000m", "requests.memory": "1024Mi"}));
    let kind = of_kind("ResourceQuota");
    let mut live = quota(&json!({"requests.cpu": "1", "requests.memory": "1Gi", "pods": "5"}));
    assert_eq!(differing(&kind, &live, &desired), []);
    live["spec"]["hard"]["requests.cpu"] = "2".into();
    assert_eq!(texts(&differing(&kind, &live, &desired)), [r#"spec.hard["requests.cpu"] is held by nobody"#]);
    let theirs = entry("person", "Update", &json!({"f:spec": {"f:hard": {"f:requests.cpu": {}}}}));
    let live = managed(live, &[theirs]);
    assert_eq!(texts(&differing(&kind, &live, &desired)), [r#"spec.hard["requests.cpu"] is held by person"#]);
}

#[test]
fn a_rule_that_says_more_is_another_one() {
    let rule = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
    let mut narrower = rule.clone();
    narrower["resourceNames"] = json!(["one"]);
    let role = |rule: &Value| json!({"kind": "Role", "metadata": {"name": "r"}, "rules": [rule]});
    let kind = of_kind("Role");
    assert_eq!(differing(&kind, &role(&rule), &role(&rule)), []);
    assert_eq!(texts(&differing(&kind, &role(&narrower), &role(&rule))), ["rules is held by nobody"]);
}
