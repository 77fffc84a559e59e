//! What a write would change of an object: the fields, and their values where they may be shown.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::FieldPath;
use crate::manifest::GroupVersionKind;
use crate::port::cluster::{ANNOTATION_GENERATION, ANNOTATION_MANIFEST};
use crate::port::proof::ANNOTATION_PROOF;

/// Members of `metadata` that the server writes itself.
const SERVERS_OWN: [&str; 5] = ["creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"];

/// Annotations that change with every write of ours.
const EVERY_WRITES: [&str; 3] = [ANNOTATION_GENERATION, ANNOTATION_MANIFEST, ANNOTATION_PROOF];

/// A field that a write would change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FieldChange {
    /// Which field; of a list, the whole list.
    pub path: FieldPath,
    /// What it is and what it would be; none of a Secret, whose values are nobody's business.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub values: Option<Values>,
}

/// What a field is, and what it would be. Null stands for a field that is not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Values {
    /// What it is.
    pub before: Value,
    /// What it would be.
    pub after: Value,
}

/// The fields in which two states of an object differ, but for those that the server writes itself, and those of ours
/// that tell one write from another.
#[must_use]
pub fn changes(kind: &GroupVersionKind, before: &Value, after: &Value) -> Vec<FieldChange> {
    let shows_values = !(kind.group.is_empty() && &*kind.kind == "Secret");
    let mut search = Search { path: Vec::new(), found: Vec::new(), shows_values };
    search.compare(before, after);
    search.found
}

struct Search<'a> {
    path: Vec<&'a str>,
    found: Vec<FieldChange>,
    shows_values: bool,
}

impl<'a> Search<'a> {
    fn compare(&mut self, before: &'a Value, after: &'a Value) {
        let empty = &NOTHING;
        match (before, after) {
            _ if before == after || self.is_servers_own() => {}
            (Value::Object(before), Value::Object(after)) => self.members(before, after),
            (Value::Object(before), Value::Null) if !before.is_empty() => self.members(before, empty),
            (Value::Null, Value::Object(after)) if !after.is_empty() => self.members(empty, after),
            _ => self.found.push(FieldChange {
                path: FieldPath::of(self.path.iter().copied()),
                values: self.shows_values.then(|| Values { before: before.clone(), after: after.clone() }),
            }),
        }
    }

    fn members(&mut self, before: &'a Map<String, Value>, after: &'a Map<String, Value>) {
        let added = after.keys().filter(|name| !before.contains_key(*name));
        for name in before.keys().chain(added) {
            self.path.push(name);
            self.compare(before.get(name).unwrap_or(&Value::Null), after.get(name).unwrap_or(&Value::Null));
            self.path.pop();
        }
    }

    fn is_servers_own(&self) -> bool {
        match self.path.as_slice() {
            ["status"] => true,
            ["metadata", member] => SERVERS_OWN.contains(member),
            ["metadata", "annotations", name] => EVERY_WRITES.contains(name),
            _ => false,
        }
    }
}

/// An object without members.
static NOTHING: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn state(version: &str, data: &Value) -> Value {
        json!({
            "metadata": {"name": "a", "resourceVersion": version, "labels": {"team": version},
                         "annotations": {"dcm.internal/generation": version}},
            "data": data, "status": {"seen": version},
        })
    }

    fn told(kind: &str, before: &Value, after: &Value) -> String {
        let kind = GroupVersionKind::new("", "v1", kind);
        serde_json::to_string(&changes(&kind, before, after)).unwrap()
    }

    #[test]
    fn each_changed_field_is_told_with_its_values_and_what_the_server_writes_is_not() {
        let before = state("1", &json!({"a": "1", "gone": "x", "list": [1]}));
        let after = state("2", &json!({"a": "2", "new": "y", "list": [1, 2]}));
        let expected = json!([
            {"path": "data.a", "before": "1", "after": "2"},
            {"path": "data.gone", "before": "x", "after": null},
            {"path": "data.list", "before": [1], "after": [1, 2]},
            {"path": "data.new", "before": null, "after": "y"},
            {"path": "metadata.labels.team", "before": "1", "after": "2"},
        ]);
        let mut found: Vec<Value> = serde_json::from_str(&told("ConfigMap", &before, &after)).unwrap();
        found.sort_by_key(|change| change["path"].as_str().map(str::to_owned));
        assert_eq!(Value::Array(found), expected);
    }

    #[test]
    fn of_a_secret_the_fields_are_told_without_their_values() {
        let (before, after) = (state("1", &json!({"a": "old"})), state("1", &json!({"a": "hunter2"})));
        assert_eq!(told("Secret", &before, &after), r#"[{"path":"data.a"}]"#);
    }
}
