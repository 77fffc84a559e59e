//! The shape of a document: its fields and what they are made of, by the published schema.
//!
//! Only `type`, `properties`, `additionalProperties`, `items` and `required` are looked at. What values mean is the
//! model's to check, which also knows what a schema can't say.

use serde_json::{Map, Value};

use crate::refusal::{Checks, Path, Refusals, VALUE_SHOWN_MAX};

use super::schema::json_schema;
use super::{API_VERSION, KIND, REFUSALS_MAX};

/// A place in a document, with what the schema says about it.
#[derive(Clone)]
pub(super) struct Cursor {
    /// Its path, as refusals spell it.
    pub(super) path: Path,
    /// None where any JSON may be.
    schema: Option<&'static Value>,
}

impl Cursor {
    pub(super) fn root() -> Self {
        Self { path: Path::root(), schema: Some(json_schema()) }
    }

    /// True where the schema says something.
    pub(super) fn is_known(&self) -> bool {
        self.schema.is_some()
    }

    /// A member of a mapping: a field by its name, an entry of a map by its quoted key.
    pub(super) fn member(&self, key: &str) -> Self {
        let field = self.schema.and_then(|schema| schema.get("properties")?.get(key));
        let entry =
            self.schema.and_then(|schema| schema.get("additionalProperties")).filter(|of| of.is_object());
        let quoted = field.is_none() && (entry.is_some() || !is_plain(key));
        let path = if quoted { self.path.key(key) } else { self.path.field(key) };
        Self { path, schema: field.or(entry) }
    }

    /// An item of a list.
    pub(super) fn item(&self, index: usize) -> Self {
        let schema = self.schema.and_then(|schema| schema.get("items")).filter(|of| of.is_object());
        Self { path: self.path.item(index), schema }
    }
}

/// True for keys that are readable in a path as they are.
fn is_plain(key: &str) -> bool {
    (1..=VALUE_SHOWN_MAX).contains(&key.len())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// One refusal.
pub(super) fn refusal(at: &Path, rule: &str) -> Refusals {
    let mut checks = Checks::default();
    checks.refuse(at, "", rule);
    match checks.finish(None::<()>) {
        Err(refusals) => refusals,
        Ok(()) => unreachable!("there is a refusal"),
    }
}

/// Checks a document's shape.
pub(super) fn check(document: &Value) -> Result<(), Refusals> {
    let Value::Object(members) = document else {
        return Err(refusal(
            &Path::root(),
            "a document must be a mapping, with apiVersion, kind, metadata and spec",
        ));
    };
    let mut checks = Checks::default();
    header(members, "apiVersion", API_VERSION, &mut checks);
    header(members, "kind", KIND, &mut checks);
    // Another kind of document has other fields: to name them all would hide what is wrong.
    if checks.count() == 0 {
        walk(&Cursor::root(), document, &mut checks);
    }
    checks.finish(Some(()))
}

fn header(members: &Map<String, Value>, field: &str, wanted: &str, checks: &mut Checks) {
    let found = members.get(field);
    if found.and_then(Value::as_str) != Some(wanted) {
        let shown = found.and_then(|found| found.as_str().map(str::to_owned).or_else(|| shown(found)));
        checks.refuse(&Path::root().field(field), &shown.unwrap_or_default(), format!("must be {wanted}"));
    }
}

/// A value in a place where it doesn't belong, as far as it may be shown: a text may be anything.
fn shown(value: &Value) -> Option<String> {
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
        checks.refuse(&at.member(key).path, "", format!("is no field; there are {}", known.join(", ")));
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
