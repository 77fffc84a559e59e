//! The shape of what is read: its fields and what they are made of, by its JSON Schema.
//!
//! [`check`] reads only `type`, `properties`, `additionalProperties`, `items` and `required`, and [`check_choices`] the lists of texts (`enum`, and
//! `const` in `oneOf`). What values mean is the model's to check, which also knows what a schema can't express.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::refusal::{Checks, Path, REFUSALS_MAX, Refusals, VALUE_SHOWN_MAX};
use crate::similar::did_you_mean;

/// Keyword of the schema of a whole Kubernetes object inside of another document, as in the schemas of custom resources.
pub(crate) const EMBEDDED_RESOURCE: &str = "x-kubernetes-embedded-resource";

/// What a scalar stands for where the schema has a say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// A text.
    Text,
    /// A number or a text.
    Quantity,
    /// `true` or `false`.
    Flag,
    /// A whole number.
    Integer,
    /// Any JSON, or no scalar.
    Any,
}

/// A place in a value, with what the schema says about it.
#[derive(Clone)]
pub(crate) struct Cursor {
    /// Its path, as refusals spell it.
    pub(crate) path: Path,
    /// None where any JSON may be.
    schema: Option<&'static Value>,
}

impl Cursor {
    pub(crate) fn of(schema: &'static Value) -> Self {
        Self { path: Path::root(), schema: Some(schema) }
    }

    /// True where the schema says something.
    pub(crate) fn is_known(&self) -> bool {
        self.schema.is_some()
    }

    /// What a scalar stands for at this place.
    pub(crate) fn expected(&self) -> Expected {
        match self.schema.map(|schema| &schema["type"]) {
            Some(Value::Array(_)) => Expected::Quantity,
            Some(Value::String(one)) => match one.as_str() {
                "string" => Expected::Text,
                "boolean" => Expected::Flag,
                "integer" | "number" => Expected::Integer,
                _ => Expected::Any,
            },
            _ => Expected::Any,
        }
    }

    /// True for a whole Kubernetes object.
    pub(crate) fn is_manifest(&self) -> bool {
        self.schema.is_some_and(|schema| schema[EMBEDDED_RESOURCE] == Value::Bool(true))
    }

    /// A member of a mapping: a field by its name, an entry of a map by its quoted key.
    pub(crate) fn member(&self, key: &str) -> Self {
        let field = self.schema.and_then(|schema| schema.get("properties")?.get(key));
        let entry =
            self.schema.and_then(|schema| schema.get("additionalProperties")).filter(|of| of.is_object());
        let quoted = field.is_none() && (entry.is_some() || !is_plain(key));
        let path = if quoted { self.path.key(key) } else { self.path.field(key) };
        Self { path, schema: field.or(entry) }
    }

    /// An item of a list.
    pub(crate) fn item(&self, index: usize) -> Self {
        let schema = self.schema.and_then(|schema| schema.get("items")).filter(|of| of.is_object());
        Self { path: self.path.item(index), schema }
    }
}

/// True for keys that are readable in a path as they are.
pub(crate) fn is_plain(key: &str) -> bool {
    (1..=VALUE_SHOWN_MAX).contains(&key.len())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// The JSON Schema (draft 2020-12) of a type whose fields may be absent and are never `null`, without references.
#[must_use]
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    strip(&mut schema);
    schema
}

/// Takes out what the generator says about Rust: defaults of absent fields, integer formats, and `null`, which
/// documents don't have.
fn strip(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            keywords.remove("default");
            keywords.remove("format");
            if let Some(Value::Array(types)) = keywords.get_mut("type") {
                types.retain(|name| name != "null");
                if let [one] = types.as_slice() {
                    let one = one.clone();
                    keywords.insert("type".to_owned(), one);
                }
            }
            keywords.values_mut().for_each(strip);
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(strip),
        _ => {}
    }
}

/// Holds a value against a schema of [`schema_of`].
///
/// # Errors
/// All that is wrong with its shape, at most [`REFUSALS_MAX`].
pub fn check(schema: &'static Value, value: &Value) -> Result<(), Refusals> {
    let mut checks = Checks::default();
    walk(&Cursor::of(schema), value, &mut checks);
    checks.finish(Some(()))
}

/// Holds the texts of a value of the right shape against the lists of texts in its schema. The model gives better reasons for what it reads
/// itself; this is for types that serde reads whole.
///
/// # Errors
/// Each text that its list does not contain, at most [`REFUSALS_MAX`].
pub fn check_choices(schema: &'static Value, value: &Value) -> Result<(), Refusals> {
    let mut checks = Checks::default();
    walk_choices(&Cursor::of(schema), value, &mut checks);
    checks.finish(Some(()))
}

fn walk_choices(at: &Cursor, value: &Value, checks: &mut Checks) {
    let Some(schema) = at.schema else { return };
    if checks.count() >= REFUSALS_MAX {
        return;
    }
    match value {
        Value::String(text) => {
            let choices = choices(schema);
            if !choices.is_empty() && !choices.contains(&text.as_str()) {
                checks.refuse(&at.path, "", format!("must be one of {}", choices.join(", ")));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk_choices(&at.item(index), item, checks);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                walk_choices(&at.member(key), member, checks);
            }
        }
        _ => {}
    }
}

/// The texts that a schema lists: one by one, each with its description, or together. None where it allows any text.
fn choices(schema: &Value) -> Vec<&str> {
    let Some(alternatives) = schema["oneOf"].as_array() else { return texts(schema) };
    // An alternative without a list allows any text.
    let all: Vec<Vec<&str>> = alternatives.iter().map(texts).collect();
    if all.iter().any(Vec::is_empty) { Vec::new() } else { all.concat() }
}

/// The texts in `enum` or `const`.
fn texts(schema: &Value) -> Vec<&str> {
    let listed = schema["enum"].as_array().into_iter().flatten();
    listed.chain(schema.get("const")).filter_map(Value::as_str).collect()
}

/// A value in a place where it doesn't belong, as far as it may be shown: a text may be anything.
pub(crate) fn shown(value: &Value) -> Option<String> {
    (value.is_number() || value.is_boolean()).then(|| value.to_string())
}

fn walk(at: &Cursor, value: &Value, checks: &mut Checks) {
    let Some(schema) = at.schema else { return };
    if checks.count() >= REFUSALS_MAX {
        return;
    }
    if let Some(rule) = broken_type(schema, value) {
        checks.refuse(&at.path, &shown(value).unwrap_or_default(), rule);
        return;
    }
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(&at.item(index), item, checks);
            }
        }
        Value::Object(members) => {
            fields(at, schema, members, checks);
            for (key, member) in members {
                walk(&at.member(key), member, checks);
            }
        }
        _ => {}
    }
}

/// Checks which fields a mapping has.
fn fields(at: &Cursor, schema: &Value, members: &Map<String, Value>, checks: &mut Checks) {
    for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !members.contains_key(required) {
            checks.refuse(&at.path.field(required), "", "is missing");
        }
    }
    if schema["additionalProperties"] != Value::Bool(false) {
        return;
    }
    let known: Vec<&str> =
        schema["properties"].as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect();
    for key in members.keys().filter(|key| !known.contains(&key.as_str())).take(REFUSALS_MAX) {
        let (fields, similar) = (known.join(", "), did_you_mean(key, known.iter().copied()));
        checks.refuse(&at.member(key).path, "", format!("unknown field; expected one of {fields}{similar}"));
    }
}

fn broken_type(schema: &Value, value: &Value) -> Option<&'static str> {
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let is = |name: &&str| match *name {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        _ => value.is_object(),
    };
    if types.iter().any(is) {
        return None;
    }
    Some(match (value, *types.first()?) {
        (Value::Null, _) => "has no value: give it one, or leave it out",
        (Value::Number(_) | Value::Bool(_), "string") if types.len() == 1 => {
            "must be a text: put it in quotes"
        }
        (_, "string") if types.len() > 1 => "must be a text or a number",
        (_, "string") => "must be a text",
        (_, "boolean") => "must be true or false",
        (_, "integer") => "must be a whole number",
        (_, "array") => "must be a list",
        _ => "must be a mapping",
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_that_its_list_does_not_contain_is_refused_with_its_place_and_the_list() {
        let listed = json!({"type": "string", "enum": ["a", "b"]});
        let described = json!({"type": "string", "oneOf": [{"const": "a"}, {"const": "b"}]});
        let mixed = json!({"oneOf": [{"type": "string", "enum": ["a"]}, {"type": "string", "const": "b"}]});
        for choice in [listed, described, mixed] {
            let schema = json!({"type": "object", "properties": {"of": {"type": "array", "items": choice}, "any": {"type": "string"}}});
            let schema: &'static Value = Box::leak(Box::new(schema));
            assert!(check_choices(schema, &json!({"of": ["a", "b"], "any": "c"})).is_ok());
            let refused = check_choices(schema, &json!({"of": ["a", "B"]})).unwrap_err();
            assert_eq!(refused.to_string(), "of[1]: must be one of a, b");
        }
        let free: &'static Value =
            Box::leak(Box::new(json!({"oneOf": [{"const": "a"}, {"type": "string"}]})));
        assert!(check_choices(free, &json!("c")).is_ok());
    }
}
