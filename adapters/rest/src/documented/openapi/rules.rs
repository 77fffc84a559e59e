//! The rules of the model, in the schemas of what is sent.
//!
//! A body is checked against its own schema first, and then against the rules of the model. Those rules are part of the schema of the
//! declarative document: this module copies each of them into the schemas of bodies, to the field with the same meaning.

use dcm_core::document;
use serde_json::{Map, Value};

/// Where a body says what the declarative document says somewhere, both as JSON pointers into their schemas.
pub(in crate::documented) type Rules = &'static [(&'static str, &'static str)];

/// A schema with the rules of the model.
pub(super) fn ruled(mut schema: Value, rules: Rules) -> Value {
    for (place, of) in rules {
        let source = document::json_schema().pointer(of).and_then(Value::as_object);
        let target = schema.pointer_mut(place).and_then(Value::as_object_mut);
        debug_assert!(source.is_some() && target.is_some(), "{place} is not as {of}");
        if let (Some(target), Some(source)) = (target, source) {
            add(target, source);
        }
    }
    schema
}

/// Adds the keywords of a schema to one that has the same fields, or fewer.
fn add(target: &mut Map<String, Value>, source: &Map<String, Value>) {
    for (keyword, value) in source {
        match (keyword.as_str(), target.get_mut(keyword), value) {
            // What has to be there, and what it is for, each says for itself.
            ("required" | "description", ..) => {}
            ("properties", Some(Value::Object(fields)), Value::Object(ruled)) => {
                for (name, rules) in ruled {
                    if let (Some(Value::Object(field)), Value::Object(rules)) = (fields.get_mut(name), rules)
                    {
                        add(field, rules);
                    }
                }
            }
            (_, Some(Value::Object(target)), Value::Object(source)) => add(target, source),
            // Anything may be there, by its shape.
            (_, Some(found @ Value::Bool(true)), value) => *found = value.clone(),
            (_, Some(_), _) => {}
            (keyword, None, value) => {
                target.insert(keyword.to_owned(), value.clone());
            }
        }
    }
}

/// In what is sent, an empty text is as good as an absent one.
pub(super) fn take_empty_for_absent(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            keywords.values_mut().for_each(take_empty_for_absent);
            let required = keywords.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
            let fields = keywords.get_mut("properties").and_then(Value::as_object_mut);
            for (_, field) in
                fields.into_iter().flatten().filter(|(name, _)| !required.iter().any(|one| *one == **name))
            {
                or_empty(field);
            }
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(take_empty_for_absent),
        _ => {}
    }
}

/// A text of a form, or an empty one.
fn or_empty(field: &mut Value) {
    let Some(keywords) = field.as_object_mut() else { return };
    if keywords.get("type").is_none_or(|of| of != "string") {
        return;
    }
    if let Some(Value::Array(values)) = keywords.get_mut("enum") {
        values.push("".into());
    }
    if let Some(Value::String(pattern)) = keywords.get_mut("pattern") {
        *pattern = format!("^$|{pattern}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_body_gets_the_rules_of_what_it_says() {
        let body = json!({"type": "object", "properties": {
            "name": {"type": "string", "description": "its own"}, "notes": {"type": "object", "additionalProperties": true}}});
        let ruled = ruled(
            body,
            &[("", "/properties/metadata"), ("/properties/notes", "/properties/spec/properties/labels")],
        );
        let document = document::json_schema();
        assert_eq!(
            ruled["properties"]["name"]["pattern"],
            document["properties"]["metadata"]["properties"]["name"]["pattern"]
        );
        assert_eq!(ruled["properties"]["name"]["description"], "its own");
        assert!(ruled["properties"].get("project").is_none());
        assert!(ruled["properties"]["notes"]["additionalProperties"]["pattern"].is_string());
    }

    #[test]
    fn an_optional_text_may_be_empty() {
        let field = json!({"type": "string", "pattern": "^a$"});
        let mut schema = json!({"properties": {"a": field, "b": field, "c": {"type": "string", "enum": ["d"]}}, "required": ["a"]});
        take_empty_for_absent(&mut schema);
        assert_eq!(schema["properties"]["a"]["pattern"], "^a$");
        assert_eq!(schema["properties"]["b"]["pattern"], "^$|^a$");
        assert_eq!(schema["properties"]["c"]["enum"], json!(["d", ""]));
    }
}
