//! How large JSON values are, to tell those apart that take long to be worked on.

use serde_json::Value;

/// True when there are no more values in these than so many, all together. Does not count further.
pub fn is_at_most<'v>(max: usize, values: impl IntoIterator<Item = &'v Value>) -> bool {
    let mut left = max;
    values.into_iter().all(|value| takes(value, &mut left))
}

/// Takes the values in a value off what is left; false: there is not as much.
fn takes(value: &Value, left: &mut usize) -> bool {
    let Some(fewer) = left.checked_sub(1) else { return false };
    *left = fewer;
    match value {
        Value::Array(items) => items.iter().all(|item| takes(item, left)),
        Value::Object(members) => members.values().all(|member| takes(member, left)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_count_all_together_up_to_the_limit() {
        let values = [json!({"a": [1, "x"]}), json!(null)];
        assert!(is_at_most(5, &values));
        assert!(!is_at_most(4, &values));
        assert!(is_at_most(0, []));
        let deep = (0..100).fold(json!(1), |value, _| json!([value]));
        assert!(!is_at_most(100, [&deep]));
    }
}
