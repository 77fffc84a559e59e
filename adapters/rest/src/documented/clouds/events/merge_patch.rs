//! What has changed, as a JSON merge patch (RFC 7396).

use serde_json::{Map, Value};

/// The patch that makes one value of another; none where they are the same. A member with the value null can't be told
/// from one that is not there: what is compared has none.
pub(super) fn between(before: &Value, after: &Value) -> Option<Value> {
    if before == after {
        return None;
    }
    let (Value::Object(before), Value::Object(after)) = (before, after) else { return Some(after.clone()) };
    let mut patch = Map::new();
    for (name, value) in after {
        let changed = match before.get(name) {
            Some(earlier) => between(earlier, value),
            None => Some(value.clone()),
        };
        patch.extend(changed.map(|changed| (name.clone(), changed)));
    }
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    patch.extend(gone.map(|name| (name.clone(), Value::Null)));
    Some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// As RFC 7396 has it, section 2.
    fn patched(target: Value, patch: &Value) -> Value {
        let Value::Object(patch) = patch else { return patch.clone() };
        let mut target = if let Value::Object(target) = target { target } else { Map::new() };
        for (name, value) in patch {
            let earlier = target.remove(name).unwrap_or(Value::Null);
            if !value.is_null() {
                target.insert(name.clone(), patched(earlier, value));
            }
        }
        Value::Object(target)
    }

    #[test]
    fn a_patch_makes_the_later_value_of_the_earlier_and_says_no_more() {
        let before = json!({"a": {"b": 1, "c": [1, 2], "d": {"e": "f"}}, "g": {"h": 1}, "i": true});
        for (after, patch) in [
            (before.clone(), None),
            (
                json!({"a": {"b": 2, "c": [1], "d": {"e": "f"}}, "i": true, "j": {"k": {}}}),
                Some(json!({"a": {"b": 2, "c": [1]}, "g": null, "j": {"k": {}}})),
            ),
            (json!({"a": 1, "g": {}, "i": {"x": 1}}), Some(json!({"a": 1, "g": {"h": null}, "i": {"x": 1}}))),
            (json!([1]), Some(json!([1]))),
        ] {
            assert_eq!(between(&before, &after), patch);
            assert_eq!(patch.map_or(before.clone(), |patch| patched(before.clone(), &patch)), after);
        }
    }
}
