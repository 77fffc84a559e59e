//! Taking our marks off an object, and what else is ours in one that was adopted.

use dcm_core::fields::{FieldSet, entries, is_ours};
use serde_json::{Map, Value, json};

use crate::update::{entries_or_reset, remove};

/// Labels and annotations under this prefix are ours: the marks, and the context's own.
const MARK_PREFIX: &str = "dcm.internal/";

/// The JSON merge patch that takes our labels, annotations and managed fields off an object in exactly this state.
pub(crate) fn patch(live: &Value) -> Value {
    json!({"metadata": {
        "uid": live["metadata"]["uid"],
        "resourceVersion": live["metadata"]["resourceVersion"],
        "labels": without_marks(&live["metadata"]["labels"]),
        "annotations": without_marks(&live["metadata"]["annotations"]),
        "managedFields": of_others(live),
    }})
}

/// The object that was adopted without what only we said, to replace it in exactly this state.
pub(crate) fn given_back(live: &Value) -> Value {
    let said_by = |us: bool| {
        let mut said = FieldSet::default();
        let entries = entries(live).filter(|entry| is_ours(entry) == us);
        entries.for_each(|entry| said.add(&FieldSet::read(&entry["fieldsV1"])));
        said
    };
    let mut body = live.clone();
    remove(&mut body, &said_by(true), &said_by(false), None);
    for member in ["labels", "annotations"] {
        if let Some(Value::Object(members)) = body["metadata"].get_mut(member) {
            members.retain(|key, _| !key.starts_with(MARK_PREFIX));
        }
    }
    body["metadata"]["managedFields"] = of_others(live);
    body
}

fn of_others(live: &Value) -> Value {
    entries_or_reset(entries(live).filter(|entry| !is_ours(entry)).cloned().collect())
}

/// A merge patch of a map: null for each key that is to go.
fn without_marks(map: &Value) -> Map<String, Value> {
    let keys = map.as_object().into_iter().flatten().map(|(key, _)| key);
    keys.filter(|key| key.starts_with(MARK_PREFIX)).map(|key| (key.clone(), Value::Null)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ours_goes_and_the_rest_stays() {
        let theirs = json!({"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:data": {}}});
        let live = json!({"data": {"a": "1"}, "metadata": {
            "name": "c", "uid": "u", "resourceVersion": "7",
            "labels": {"dcm.internal/owner": "dcm", "dcm.internal/project": "p", "app": "a"},
            "annotations": {"dcm.internal/generation": "3", "note": "n"},
            "managedFields": [
                {"manager": "dcm", "operation": "Update", "fieldsV1": {"f:data": {}}},
                {"manager": "dcm", "operation": "Apply", "fieldsV1": {"f:data": {}}},
                theirs,
            ],
        }});
        let expected = json!({"metadata": {
            "uid": "u", "resourceVersion": "7",
            "labels": {"dcm.internal/owner": null, "dcm.internal/project": null},
            "annotations": {"dcm.internal/generation": null},
            "managedFields": [theirs],
        }});
        assert_eq!(patch(&live), expected);
    }

    #[test]
    fn what_was_adopted_keeps_what_others_said_alone_or_with_us() {
        let said = |manager: &str, operation: &str, data: Value| {
            let labels = json!({"f:dcm.internal/owner": {}, "f:tier": {}});
            let labels = if manager == "dcm" { labels } else { json!({"f:app": {}}) };
            json!({"manager": manager, "operation": operation,
                   "fieldsV1": {"f:data": data, "f:metadata": {"f:labels": labels}}})
        };
        let kubectl = said("kubectl", "Update", json!({"f:alone": {}, "f:shared": {}}));
        let unrecorded = said("before-first-apply", "Update", json!({"f:old": {}}));
        let ours = said("dcm", "Apply", json!({"f:ours": {}, "f:shared": {}, "f:old": {}}));
        let live = json!({"data": {"alone": "1", "shared": "1", "old": "1", "ours": "1"}, "metadata": {
            "name": "c", "uid": "u", "resourceVersion": "7",
            "labels": {"dcm.internal/owner": "dcm", "tier": "gold", "app": "a"},
            "managedFields": [kubectl, unrecorded, ours],
        }});
        let expected = json!({"data": {"alone": "1", "shared": "1", "old": "1"}, "metadata": {
            "name": "c", "uid": "u", "resourceVersion": "7",
            "labels": {"app": "a"}, "managedFields": [kubectl, unrecorded],
        }});
        assert_eq!(given_back(&live), expected);
    }

    #[test]
    fn an_object_that_only_we_wrote_has_no_managers_after() {
        let live = json!({"metadata": {"name": "c", "uid": "u", "resourceVersion": "7",
            "managedFields": [{"manager": "dcm", "operation": "Update", "fieldsV1": {}}]}});
        assert_eq!(patch(&live)["metadata"]["managedFields"], json!([{}]));
        assert_eq!(patch(&live)["metadata"]["labels"], json!({}));
    }
}
