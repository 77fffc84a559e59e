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
    let value = resolver.value(document, &Cursor::of(json_schema()), Inside::Document);
    Resolved { value, pairs: pairs(document), refused: resolver.refused }
}

/// What a value is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// The document itself.
    Document,
    /// A manifest.
    Manifest,
    /// The items of a list `env` of a manifest, whose values may be secret.
    Environment,
    /// A part of a manifest that may be secret: data, and values of an environment. Refusals don't show it.
    Hidden,
}

impl Inside {
    /// What a member of a mapping is part of.
    fn member(self, key: &str) -> Self {
        match (self, key) {
            (Self::Manifest, "data" | "stringData" | "binaryData") | (Self::Environment, "value") => {
                Self::Hidden
            }
            (Self::Manifest | Self::Environment, "env") => Self::Environment,
            (Self::Environment, _) => Self::Manifest,
            (inside, _) => inside,
        }
    }

    fn is_manifest(self) -> bool {
        self != Self::Document
    }
}

struct Resolver {
    refused: Vec<(Place, Refusal)>,
}

impl Resolver {
    fn value(&mut self, node: &Node, at: &Cursor, inside: Inside) -> Value {
        let inside = if inside == Inside::Document && at.is_manifest() { Inside::Manifest } else { inside };
        match &node.content {
            Content::Scalar(scalar) => self.scalar(scalar, node.place, at, inside),
            Content::List(items) => {
                let items = items.iter().enumerate();
                items.map(|(index, item)| self.value(item, &at.item(index), inside)).collect()
            }
            Content::Mapping(members) => Value::Object(self.members(members, at, inside)),
        }
    }

    fn members(&mut self, members: &[(Key, Rc<Node>)], at: &Cursor, inside: Inside) -> Map<String, Value> {
        let mut object = Map::new();
        for (key, member) in members {
            let at = at.member(&key.scalar.text);
            if inside.is_manifest() && key.scalar.plain {
                self.manifest_key(key, &at);
            }
            let value = self.value(member, &at, inside.member(&key.scalar.text));
            object.insert(key.scalar.text.to_string(), value);
        }
        object
    }

    fn manifest_key(&mut self, key: &Key, at: &Cursor) {
        let text = &*key.scalar.text;
        let rule = match reading::kubectl_key(text) {
            Some(read) if read == text => return,
            Some(read) => {
                let (read, text) = (shortened(&read), shortened(text));
                format!("is the key {read:?} for kubectl and {text:?} here: put the key in quotes")
            }
            None => "kubectl refuses this key: put it in quotes".to_owned(),
        };
        self.refuse(key.place, at, text, rule);
    }

    fn scalar(&mut self, scalar: &Scalar, place: Place, at: &Cursor, inside: Inside) -> Value {
        let text = &*scalar.text;
        if !scalar.plain {
            return text.into();
        }
        match at.expected() {
            _ if inside == Inside::Hidden => self.hidden(text, place, at),
            _ if inside.is_manifest() => self.whole(text, place, at),
            Expected::Text if reading::is_null(text) => Value::Null,
            Expected::Text => text.into(),
            Expected::Quantity => match self.exact(text, place, at, Quotes::Help) {
                Value::Number(number) if !number.is_f64() => Value::Number(number),
                Value::Number(_) => text.into(),
                other => other,
            },
            Expected::Flag | Expected::Integer => self.exact(text, place, at, Quotes::DoNot),
            Expected::Any => any(text),
        }
    }

    /// The value that both readers give a scalar; what has none, or two, is refused.
    fn exact(&mut self, text: &str, place: Place, at: &Cursor, quotes: Quotes) -> Value {
        let (here, by_kubectl) = (reading::core(text), reading::kubectl(text));
        if !reading::agree(here, by_kubectl) {
            self.refuse(place, at, text, two_values(text, here, by_kubectl, quotes));
        } else if here == Reading::NotFinite {
            self.refuse(place, at, text, quotes.after("must be a finite number"));
        }
        here.value(text).unwrap_or_default()
    }

    /// The exact value of a scalar of a manifest, of which no rule of ours checks the size.
    fn whole(&mut self, text: &str, place: Place, at: &Cursor) -> Value {
        let before = self.refused.len();
        let value = self.exact(text, place, at, Quotes::Help);
        if before == self.refused.len() && is_rounded(text, &value) {
            let rule = "is an integer of more than 64 bits, which would be rounded: put it in quotes";
            self.refuse(place, at, text, rule.to_owned());
        }
        value
    }

    /// The exact value of a scalar that may be secret.
    fn hidden(&mut self, text: &str, place: Place, at: &Cursor) -> Value {
        let here = reading::core(text);
        let value = here.value(text).unwrap_or_default();
        if !reading::agree(here, reading::kubectl(text))
            || here == Reading::NotFinite
            || is_rounded(text, &value)
        {
            let rule = "must be in quotes: without them kubectl reads another value, or none";
            self.refuse(place, at, "", rule.to_owned());
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

/// Whether quotes around a scalar help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    /// A text may stand there.
    Help,
    /// A text is refused there, too.
    DoNot,
}

impl Quotes {
    /// What to do, with the quotes as the other possibility.
    fn after(self, remedy: &str) -> String {
        match self {
            Self::Help if remedy.is_empty() => "put it in quotes".to_owned(),
            Self::Help => format!("{remedy}, or put it in quotes"),
            Self::DoNot if remedy.is_empty() => "write another value".to_owned(),
            Self::DoNot => remedy.to_owned(),
        }
    }
}

/// True for an integer that is held as a float.
fn is_rounded(text: &str, value: &Value) -> bool {
    value.is_f64() && text.trim_start_matches(['+', '-']).bytes().all(|byte| byte.is_ascii_digit())
}

/// The rule that a scalar with two values breaks, with both of them.
fn two_values(text: &str, here: Reading, by_kubectl: Reading, quotes: Quotes) -> String {
    let is_short = text.chars().count() <= VALUE_SHOWN_MAX;
    let remedy = match (here, by_kubectl) {
        _ if !is_short => String::new(),
        (_, Reading::Text | Reading::NotFinite | Reading::Null) => String::new(),
        (Reading::Integer(_), Reading::Integer(value)) => {
            let octal = text.strip_prefix('0').map(|digits| format!(" or 0o{digits}"));
            format!("write {value}{}", octal.unwrap_or_default())
        }
        _ => format!("write {}", by_kubectl.describe(text)),
    };
    let text = shortened(text);
    let (by_kubectl, here) = (by_kubectl.describe(&text), here.describe(&text));
    format!("is {by_kubectl} for kubectl and {here} here: {}", quotes.after(&remedy))
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
