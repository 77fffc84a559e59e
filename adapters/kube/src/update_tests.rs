use super::*;

/// An object with `data`, and one entry of managed fields for each (manager, operation, fields of `data`).
fn live(data: &Value, entries: &[(&str, &str, &[&str])]) -> Value {
    let entries: Vec<Value> = entries
        .iter()
        .map(|(manager, operation, fields)| {
            let fields: serde_json::Map<String, Value> =
                fields.iter().map(|name| (format!("f:{name}"), json!({}))).collect();
            json!({"manager": manager, "operation": operation, "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
                   "fieldsType": "FieldsV1", "fieldsV1": {"f:data": fields}})
        })
        .collect();
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data,
           "metadata": {"name": "c", "uid": "u", "resourceVersion": "7", "managedFields": entries}})
}

fn manifest(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data})
}

fn replaced(way: Way) -> Value {
    match way {
        Way::Replace(body) => body,
        Way::Apply { force } => panic!("applied, force {force}"),
    }
}

#[test]
fn an_object_is_applied_unless_something_of_ours_would_stay_behind() {
    let created: &[(&str, &str, &[&str])] = &[("dcm", "Update", &["a", "b"])];
    let applied: &[(&str, &str, &[&str])] = &[("dcm", "Apply", &["a", "b"])];
    let adopted: &[(&str, &str, &[&str])] = &[("kubectl", "Update", &["a", "b"])];
    let both: &[(&str, &str, &[&str])] = &[("dcm", "Apply", &["a", "b"]), ("dcm", "Update", &["a"])];
    let unrecorded: &[(&str, &str, &[&str])] =
        &[("before-first-apply", "Update", &["a"]), ("dcm", "Apply", &["b"])];
    // (what, managers, what the manifest says, force, what is to happen; none for a replacement)
    let table = [
        ("created, changed", created, "a2 b1", false, Some(true)),
        ("created, added", created, "a1 b1 c1", false, Some(true)),
        ("created, removed", created, "a1", false, None),
        ("created, removed, force", created, "a1", true, None),
        ("applied, changed", applied, "a2 b1", false, Some(false)),
        ("applied, removed", applied, "a1", false, Some(false)),
        ("applied, removed, force", applied, "a1", true, Some(true)),
        ("by nobody", &[], "a2", false, Some(true)),
        ("by nobody, adopted", unrecorded, "a2 b2", false, Some(true)),
        ("by nobody, removed", unrecorded, "a1", false, None),
        ("adopted", adopted, "a2", false, Some(false)),
        ("both, applied is removed", both, "a1", false, Some(true)),
        ("both, created is removed", both, "b1", false, None),
    ];
    for (what, managers, said, force, expected) in table {
        let said: serde_json::Map<String, Value> =
            said.split(' ').map(|field| (field[..1].to_owned(), field[1..].into())).collect();
        let live = live(&json!({"a": "1", "b": "1"}), managers);
        let way = choose(&live, &manifest(&said.into()), force).unwrap();
        match (way, expected) {
            (Way::Apply { force }, Some(expected)) => assert_eq!(force, expected, "{what}"),
            (Way::Replace(_), None) => {}
            (way, _) => panic!("{what}: {way:?}"),
        }
    }
}

#[test]
fn what_is_gone_already_is_not_left_behind() {
    let live = live(&json!({"a": "1"}), &[("dcm", "Update", &["a", "b"])]);
    assert_eq!(choose(&live, &manifest(&json!({"a": "1"})), true).unwrap(), Way::Apply { force: true });
}

#[test]
fn a_replacement_has_what_the_manifest_says_and_what_others_wrote_and_nothing_more_of_ours() {
    let live = live(
        &json!({"mine": "1", "gone": "1", "shared": "1", "theirs": "1", "nobodys": "1"}),
        &[("dcm", "Update", &["mine", "gone", "shared"]), ("kubectl", "Update", &["theirs", "shared"])],
    );
    let body = replaced(choose(&live, &manifest(&json!({"mine": "2", "new": "1"})), false).unwrap());
    let expected = json!({"mine": "2", "new": "1", "shared": "1", "theirs": "1", "nobodys": "1"});
    assert_eq!(body["data"], expected);
    assert_eq!(body["metadata"]["resourceVersion"], "7");
    assert_eq!(body["metadata"]["uid"], "u");
}

#[test]
fn a_replacement_turns_our_entry_into_one_of_apply() {
    let live = live(
        &json!({"mine": "1", "gone": "1", "theirs": "1"}),
        &[("dcm", "Update", &["mine", "gone"]), ("kubectl", "Update", &["theirs"])],
    );
    let body = replaced(choose(&live, &manifest(&json!({"mine": "2"})), false).unwrap());
    let expected = json!([
        live["metadata"]["managedFields"][1],
        {"manager": "dcm", "operation": "Apply", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
         "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:mine": {}}}},
    ]);
    assert_eq!(body["metadata"]["managedFields"], expected);
}

#[test]
fn when_nothing_of_ours_is_left_the_entries_are_reset() {
    let live = live(&json!({"gone": "1"}), &[("dcm", "Update", &["gone"])]);
    let body = replaced(choose(&live, &manifest(&json!({"new": "1"})), false).unwrap());
    assert_eq!(body["metadata"]["managedFields"], json!([{}]));
}

#[test]
fn a_conflict_names_the_manager_and_the_field() {
    let managers: &[(&str, &str, &[&str])] =
        &[("dcm", "Update", &["mine"]), ("kubectl", "Update", &["theirs"])];
    let live = live(&json!({"mine": "1", "theirs": "1"}), managers);
    let wanted = manifest(&json!({"mine": "1", "theirs": "2"}));
    match choose(&live, &wanted, false).unwrap_err() {
        Error::FieldConflict { manager, field } => {
            assert_eq!((manager.as_str(), field.as_str()), ("kubectl", ".data.theirs"));
        }
        error => panic!("{error}"),
    }
    assert_eq!(choose(&live, &wanted, true).unwrap(), Way::Apply { force: true });
    let equal = manifest(&json!({"mine": "2", "theirs": "1"}));
    assert_eq!(choose(&live, &equal, false).unwrap(), Way::Apply { force: true });
}

/// Removes and merges as a replacement does; `ours` and `others` are FieldsV1.
fn replace_value(live: Value, ours: &Value, others: &Value, wanted: &Value) -> Value {
    let (ours, others) = (FieldSet::read(ours), FieldSet::read(others));
    let mut shape = ours.clone();
    shape.add(&others);
    let mut value = live;
    remove(&mut value, &ours, &others, Some(wanted));
    merge(&mut value, wanted, Some(&shape));
    value
}

#[test]
fn lists_with_keys_merge_by_key() {
    let web = r#"k:{"name":"web"}"#;
    let old = r#"k:{"name":"old"}"#;
    let sidecar = r#"k:{"name":"sidecar"}"#;
    let item = || json!({".": {}, "f:name": {}, "f:image": {}});
    let ours = json!({"f:c": {(web): {".": {}, "f:name": {}, "f:image": {}, "f:tty": {}}, (old): item()}});
    let others = json!({"f:c": {(sidecar): item(), (web): {"f:resources": {}}}});
    let live = json!({"c": [
        {"name": "old", "image": "o"},
        {"name": "web", "image": "1", "tty": true, "resources": {"cpu": 1}, "default": "d"},
        {"name": "sidecar", "image": "s"},
        {"name": "injected"},
    ]});
    let wanted =
        json!({"c": [{"name": "new"}, {"name": "web", "image": "2"}, {"name": "injected", "image": "i"}]});
    let expected = json!({"c": [
        {"name": "new"},
        {"name": "web", "image": "2", "resources": {"cpu": 1}, "default": "d"},
        {"name": "injected", "image": "i"},
        {"name": "sidecar", "image": "s"},
    ]});
    assert_eq!(replace_value(live, &ours, &others, &wanted), expected);
}

#[test]
fn a_key_field_with_a_default_need_not_be_spelled() {
    let (tcp, udp) = (r#"k:{"port":80,"protocol":"TCP"}"#, r#"k:{"port":80,"protocol":"UDP"}"#);
    let item = || json!({".": {}, "f:port": {}, "f:protocol": {}, "f:name": {}});
    let ours = json!({"f:p": {(tcp): item(), (udp): item()}});
    let live = json!({"p": [
        {"port": 80, "protocol": "TCP", "name": "a"},
        {"port": 80, "protocol": "UDP", "name": "b"},
    ]});
    let wanted = json!({"p": [{"port": 80, "name": "c"}, {"port": 80, "protocol": "UDP"}]});
    let expected =
        json!({"p": [{"port": 80, "protocol": "TCP", "name": "c"}, {"port": 80, "protocol": "UDP"}]});
    assert_eq!(replace_value(live, &ours, &json!({}), &wanted), expected);
}

#[test]
fn every_kind_of_value_is_replaced_as_its_shape_says() {
    // (what, live, ours, others, wanted, expected)
    let table = [
        (
            "a list that is one value is replaced",
            json!({"l": [1, 2]}),
            json!({"f:l": {}}),
            json!({}),
            json!({"l": [3]}),
            json!({"l": [3]}),
        ),
        (
            "an object that is one value is replaced",
            json!({"o": {"a": 1}}),
            json!({"f:o": {}}),
            json!({}),
            json!({"o": {"b": 1}}),
            json!({"o": {"b": 1}}),
        ),
        (
            "a set keeps what others put in",
            json!({"s": ["ours", "gone", "theirs"]}),
            json!({"f:s": {".": {}, "v:\"ours\"": {}, "v:\"gone\"": {}}}),
            json!({"f:s": {"v:\"theirs\"": {}}}),
            json!({"s": ["new", "ours"]}),
            json!({"s": ["new", "ours", "theirs"]}),
        ),
        (
            "an object of ours goes with what nobody holds in it",
            json!({"o": {"a": 1, "default": 2}, "k": 1}),
            json!({"f:o": {".": {}, "f:a": {}}}),
            json!({}),
            json!({}),
            json!({"k": 1}),
        ),
        (
            "an object of ours stays for what others hold in it",
            json!({"o": {"a": 1, "b": 2}}),
            json!({"f:o": {".": {}, "f:a": {}}}),
            json!({"f:o": {"f:b": {}}}),
            json!({}),
            json!({"o": {"b": 2}}),
        ),
        (
            "an object that others made stays when it is empty",
            json!({"o": {"a": 1}}),
            json!({"f:o": {"f:a": {}}}),
            json!({"f:o": {".": {}}}),
            json!({}),
            json!({"o": {}}),
        ),
        (
            "items told by place stay",
            json!({"l": [1, 2]}),
            json!({"f:l": {"i:0": {}}}),
            json!({}),
            json!({}),
            json!({"l": [1, 2]}),
        ),
        (
            "another type of value wins",
            json!({"a": {"b": 1}}),
            json!({}),
            json!({}),
            json!({"a": "text"}),
            json!({"a": "text"}),
        ),
    ];
    for (what, live, ours, others, wanted, expected) in table {
        assert_eq!(replace_value(live, &ours, &others, &wanted), expected, "{what}");
    }
}
