//! What the scalars of a document mean: that depends on what belongs where they stand.
//!
//! - Where a text belongs, a plain scalar is the text as it is written, whatever it looks like.
//! - Key-value pairs are any JSON: a plain scalar that JSON would write so is that number, `true` or `false`, and `~` and `null` are nothing;
//!   any other is a text. Numbers keep their digits.
//! - A quantity may be a number or a text; a fraction is a text, so that it keeps its digits.
//! - Everywhere else, and everywhere in a manifest, a plain scalar that kubectl reads as another value than YAML 1.2 is refused, and so is a
//!   key of a manifest that kubectl writes differently.

use std::rc::Rc;

use serde_json::{Map, Number, Value};

use crate::refusal::{REFUSALS_MAX, Refusal, VALUE_SHOWN_MAX, shortened};
use crate::shape::{Cursor, Expected};
use crate::yaml::Place;
use crate::yaml::compose::{Content, Key, Node, Scalar};
use crate::yaml::reading::{self, Reading};

use super::schema::json_schema;

/// A document with values in place of scalars.
pub(super) struct Resolved {
    /// The document. Its numbers are as [`serde_json`] holds them.
    pub(super) value: Value,
    /// The key-value pairs as JSON with all digits, by the index of their set.
    pub(super) pairs: Vec<(usize, String)>,
    /// The scalars that have two values, each with its place.
    pub(super) refused: Vec<(Place, Refusal)>,
}

/// Gives each scalar of a document its value.
pub(super) fn resolve(document: &Node) -> Resolved {
    let mut resolver = Resolver { refused: Vec::new() };
    let value = resolver.value(document, &Cursor::of(json_schema()), false);
    Resolved { value, pairs: pairs(document), refused: resolver.refused }
}

struct Resolver {
    refused: Vec<(Place, Refusal)>,
}

impl Resolver {
    fn value(&mut self, node: &Node, at: &Cursor, in_manifest: bool) -> Value {
        let in_manifest = in_manifest || at.is_manifest();
        match &node.content {
            Content::Scalar(scalar) => self.scalar(scalar, node.place, at, in_manifest),
            Content::List(items) => {
                let items = items.iter().enumerate();
                items.map(|(index, item)| self.value(item, &at.item(index), in_manifest)).collect()
            }
            Content::Mapping(members) => Value::Object(self.members(members, at, in_manifest)),
        }
    }

    fn members(&mut self, members: &[(Key, Rc<Node>)], at: &Cursor, in_manifest: bool) -> Map<String, Value> {
        let mut object = Map::new();
        for (key, member) in members {
            let at = at.member(&key.scalar.text);
            if in_manifest && key.scalar.plain {
                self.manifest_key(key, &at);
            }
            object.insert(key.scalar.text.to_string(), self.value(member, &at, in_manifest));
        }
        object
    }

    fn manifest_key(&mut self, key: &Key, at: &Cursor) {
        let text = &*key.scalar.text;
        let rule = match reading::kubectl_key(text) {
            Some(read) if read == text => return,
            Some(read) => format!("is the key {read:?} for kubectl and {text:?} here: put the key in quotes"),
            None => "is no key for kubectl: put the key in quotes".to_owned(),
        };
        self.refuse(key.place, at, text, rule);
    }

    fn scalar(&mut self, scalar: &Scalar, place: Place, at: &Cursor, in_manifest: bool) -> Value {
        let text = &*scalar.text;
        if !scalar.plain {
            return text.into();
        }
        match at.expected() {
            _ if in_manifest => self.whole(text, place, at),
            Expected::Text if reading::is_null(text) => Value::Null,
            Expected::Text => text.into(),
            Expected::Quantity => match self.exact(text, place, at) {
                Value::Number(number) if !number.is_f64() => Value::Number(number),
                Value::Number(_) => text.into(),
                other => other,
            },
            Expected::Flag | Expected::Integer => self.exact(text, place, at),
            Expected::Any => any(text),
        }
    }

    /// The value that both readers give a scalar; what has none, or two, is refused.
    fn exact(&mut self, text: &str, place: Place, at: &Cursor) -> Value {
        let (here, by_kubectl) = (reading::core(text), reading::kubectl(text));
        if !reading::agree(here, by_kubectl) {
            self.refuse(place, at, text, two_values(text, here, by_kubectl));
        } else if here == Reading::NotFinite {
            self.refuse(place, at, text, "must be a finite number, or a text in quotes".to_owned());
        }
        here.value(text).unwrap_or_default()
    }

    /// The exact value of a scalar of a manifest, of which no rule of ours checks the size.
    fn whole(&mut self, text: &str, place: Place, at: &Cursor) -> Value {
        let value = self.exact(text, place, at);
        let is_integer = text.trim_start_matches(['+', '-']).bytes().all(|byte| byte.is_ascii_digit());
        if is_integer && value.is_f64() {
            let rule = "is an integer of more than 64 bits, which would be rounded: put it in quotes";
            self.refuse(place, at, text, rule.to_owned());
        }
        value
    }

    fn refuse(&mut self, place: Place, at: &Cursor, text: &str, rule: String) {
        if self.refused.len() < REFUSALS_MAX {
            let refusal = Refusal { path: at.path.to_string(), value: shortened(text), rule };
            self.refused.push((place, refusal));
        }
    }
}

/// The rule that a scalar with two values breaks, with both of them.
fn two_values(text: &str, here: Reading, by_kubectl: Reading) -> String {
    let short = text.chars().count() <= VALUE_SHOWN_MAX;
    let written = match (short, here, by_kubectl) {
        (true, Reading::Integer(_), Reading::Integer(value)) if text.starts_with(['0', '-', '+']) => {
            let octal = text.strip_prefix('0').map(|digits| format!(" or 0o{digits}"));
            format!("write {value}{}, or put it in quotes", octal.unwrap_or_default())
        }
        (true, _, Reading::Text | Reading::NotFinite | Reading::Null) => "put it in quotes".to_owned(),
        (true, _, by_kubectl) => format!("write {}, or put it in quotes", by_kubectl.describe(text)),
        (false, ..) => "put it in quotes".to_owned(),
    };
    let text = shortened(text);
    format!("is {} for kubectl and {} here: {written}", by_kubectl.describe(&text), here.describe(&text))
}

/// A plain scalar among any JSON.
fn any(text: &str) -> Value {
    match text {
        "" | "~" | "null" => Value::Null,
        "true" => true.into(),
        "false" => false.into(),
        _ => number(text).map_or_else(|| text.into(), Value::Number),
    }
}

/// The number that a text is in JSON.
fn number(text: &str) -> Option<Number> {
    let starts = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let ends = text.ends_with(|last: char| last.is_ascii_digit());
    (starts && ends).then(|| serde_json::from_str(text).ok()).flatten()
}

/// The key-value pairs of a document, as far as it has them where they belong.
fn pairs(document: &Node) -> Vec<(usize, String)> {
    let sets = document.member("spec").and_then(|spec| spec.member("keyValues"));
    let sets = sets.map(|sets| sets.items()).unwrap_or_default();
    let written = sets.iter().enumerate().filter_map(|(index, set)| {
        let mut text = String::new();
        write_json(set.member("kv")?, &mut text);
        Some((index, text))
    });
    written.collect()
}

/// Writes a node as JSON with the digits of its numbers.
fn write_json(node: &Node, json: &mut String) {
    match &node.content {
        Content::Scalar(scalar) => match any(&scalar.text) {
            Value::Number(_) if scalar.plain => json.push_str(&scalar.text),
            value if scalar.plain => json.push_str(&value.to_string()),
            _ => json.push_str(&Value::from(&*scalar.text).to_string()),
        },
        Content::List(items) => {
            json.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    json.push(',');
                }
                write_json(item, json);
            }
            json.push(']');
        }
        Content::Mapping(members) => {
            json.push('{');
            for (index, (key, member)) in members.iter().enumerate() {
                if index > 0 {
                    json.push(',');
                }
                json.push_str(&Value::from(&*key.scalar.text).to_string());
                json.push(':');
                write_json(member, json);
            }
            json.push('}');
        }
    }
}
