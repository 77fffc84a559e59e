//! Taking our marks off an object.

use serde_json::{Map, Value, json};

use crate::fields::{entries, is_ours};
use crate::update::entries_or_reset;

/// Labels and annotations under this prefix are ours: the marks, and the context's own.
const MARK_PREFIX: &str = "dcm.internal/";

/// The JSON merge patch that takes our labels, annotations and managed fields off an object in exactly this state.
pub(crate) fn patch(live: &Value) -> Value {
    let kept = entries(live).filter(|entry| !is_ours(entry)).cloned().collect();
    json!({"metadata": {
        "uid": live["metadata"]["uid"],
        "resourceVersion": live["metadata"]["resourceVersion"],
        "labels": without_marks(&live["metadata"]["labels"]),
        "annotations": without_marks(&live["metadata"]["annotations"]),
        "managedFields": entries_or_reset(kept),
    }})
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
    fn an_object_that_only_we_wrote_has_no_managers_after() {
        let live = json!({"metadata": {"name": "c", "uid": "u", "resourceVersion": "7",
            "managedFields": [{"manager": "dcm", "operation": "Update", "fieldsV1": {}}]}});
        assert_eq!(patch(&live)["metadata"]["managedFields"], json!([{}]));
        assert_eq!(patch(&live)["metadata"]["labels"], json!({}));
    }
}
