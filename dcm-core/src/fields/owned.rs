//! The part of an object that is ours: what we desire of it, and what we hold.

use serde_json::{Map, Value};

use super::compare::Place;
use super::{FieldSet, Finder, Ownership, Step};

/// The values of the fields that `desired` says, and of those that our manager holds, as the object has them. Nothing
/// of a status is among them, and nothing that others say beside ours.
///
/// Members have the names of FieldsV1; a field that is not there is left out.
#[must_use]
pub fn owned(live: &Value, desired: Option<&Value>) -> Value {
    let ownership = Ownership::read(live);
    let mut fields = ownership.ours.clone();
    if let Some(desired) = desired {
        fields.add(&said(desired, &Place::of(live, &ownership)));
    }
    fields.children.remove("f:status");
    pick(&fields, live)
}

/// The fields that a value says; a list without keys, and a map that is one value, are one field.
fn said(desired: &Value, place: &Place<'_>) -> FieldSet {
    let named: Vec<(String, &Value)> = match desired {
        Value::Object(members) if !place.is_one_value() => {
            members.iter().map(|(name, member)| (format!("f:{name}"), member)).collect()
        }
        Value::Array(items) => {
            place.names_of(items).map(|names| names.into_iter().zip(items).collect()).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    let mut finder = place.finder();
    let children = named.into_iter().map(|(name, member)| {
        let below = said(member, &place.below(&name, &mut finder));
        (name, below)
    });
    FieldSet { member: true, children: children.collect() }
}

/// What a value has of these fields.
fn pick(fields: &FieldSet, value: &Value) -> Value {
    if fields.children.is_empty() {
        return value.clone();
    }
    let mut picked = Map::new();
    let mut finder = Finder::new(value);
    for (name, below) in &fields.children {
        if let Some(found) = Step::parse(name).and_then(|step| finder.find(&step)) {
            picked.insert(name.clone(), pick(below, found));
        }
    }
    Value::Object(picked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn live(spec: &Value, status: &Value, entries: &Value) -> Value {
        json!({"metadata": {"name": "q", "resourceVersion": "7", "managedFields": entries},
               "spec": spec, "status": status})
    }

    #[test]
    fn what_we_desire_and_what_we_hold_is_ours_and_nothing_else() {
        let entries = json!([
            {"manager": "dcm", "operation": "Apply", "time": "2026-01-01T00:00:00Z",
             "fieldsV1": {"f:spec": {"f:hard": {"f:dropped": {}}}}},
            {"manager": "person", "operation": "Update", "fieldsV1": {"f:spec": {"f:hard": {"f:theirs": {}}}}},
        ]);
        let hard = json!({"hard": {"pods": "1", "dropped": "2", "theirs": "3"}});
        let found = owned(
            &live(&hard, &json!({"used": {"pods": "1"}}), &entries),
            Some(&json!({"spec": {"hard": {"pods": "9", "missing": "9"}}, "status": {"used": {}}})),
        );
        assert_eq!(found, json!({"f:spec": {"f:hard": {"f:pods": "1", "f:dropped": "2"}}}));
    }

    #[test]
    fn items_of_a_list_with_keys_are_ours_one_by_one_and_other_lists_as_a_whole() {
        let ours = json!([{"manager": "dcm", "operation": "Apply",
            "fieldsV1": {"f:spec": {"f:ports": {"k:{\"port\":80}": {".": {}, "f:name": {}}}, "f:args": {}}}}]);
        let spec =
            json!({"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "theirs"}], "args": [1, 2]});
        let desired = json!({"spec": {"ports": [{"port": 80, "name": "b"}], "args": [1]}});
        let found = owned(&live(&spec, &json!({}), &ours), Some(&desired));
        let port = json!({"f:port": 80, "f:name": "a"});
        assert_eq!(found, json!({"f:spec": {"f:ports": {"k:{\"port\":80}": port}, "f:args": [1, 2]}}));
    }
}
