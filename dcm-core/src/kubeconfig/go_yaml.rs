//! Reading YAML as client-go does: the first document of a text, with the values of YAML 1.1.
//!
//! client-go reads a kubeconfig with go-yaml 2. There, a plain `yes` is true and a plain `0815` a number, the last of two equal keys
//! counts, merge keys (`<<`) are written out where they stand, unknown tags mean nothing, and what follows the first document is not read.
//! The limits are those of the [reader](crate::yaml) of all other texts.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};
use serde_saphyr::granit_parser::{self, Event, Parser, ScalarStyle, Span, StrInput, Tag};

use super::go_base64;
use crate::yaml::reading::{self, Reading as Plain};
use crate::yaml::{ALIASED_BYTES_MAX, ALIASED_NODES_MAX, DEPTH_MAX, NODES_MAX, Place, Unreadable};

/// Where tags of YAML itself begin.
const CORE_TAGS: &str = "tag:yaml.org,2002:";

/// What a text has.
pub(super) struct Reading {
    /// The first document; null for a text without any.
    pub(super) value: Value,
    /// Places of keys that their mapping has already.
    pub(super) doubled: Vec<Place>,
    /// Whether something follows the first document.
    pub(super) has_more: bool,
}

/// Reads the first document of a text.
///
/// # Errors
/// [`Unreadable`], for the first limit or rule that it breaks.
pub(super) fn read(text: &str) -> Result<Reading, Unreadable> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let options = granit_parser::options! { emit_comments: false };
    let mut reader = Reader {
        events: Parser::new_from_str_with_options(text, options),
        anchors: BTreeMap::new(),
        nodes: 0,
        recorded: 0,
        recorded_bytes: 0,
        aliased: 0,
        bytes: 0,
        aliased_bytes: 0,
        doubled: Vec::new(),
    };
    let value = loop {
        match reader.next()? {
            None | Some((Event::StreamEnd, _)) => break Value::Null,
            Some((Event::StreamStart | Event::DocumentStart(..), _)) => {}
            Some((event, span)) => {
                let value = reader.node(event, span, 0)?;
                // Whether the document ends here.
                reader.next()?;
                break value;
            }
        }
    };
    let has_more = matches!(reader.events.next(), Some(Ok((Event::DocumentStart(..), _)) | Err(_)));
    Ok(Reading { value, doubled: reader.doubled, has_more })
}

/// A node that aliases may name, how many nodes it has, and how many bytes of scalars.
struct Anchored {
    value: Value,
    nodes: usize,
    bytes: usize,
}

struct Reader<'t> {
    events: Parser<'t, StrInput<'t>>,
    anchors: BTreeMap<usize, Anchored>,
    nodes: usize,
    /// Nodes that are kept for aliases.
    recorded: usize,
    /// Bytes of scalars that are kept for aliases.
    recorded_bytes: usize,
    /// Nodes that aliases stand for.
    aliased: usize,
    /// Bytes of scalars, with those that aliases stand for.
    bytes: usize,
    /// Bytes that aliases stand for.
    aliased_bytes: usize,
    doubled: Vec<Place>,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<Option<(Event<'t>, Span)>, Unreadable> {
        match self.events.next() {
            None => Ok(None),
            Some(Ok(event)) => Ok(Some(event)),
            Some(Err(error)) => Err(Unreadable { place: error.marker().into(), rule: None }),
        }
    }

    /// The next event, which must be there.
    fn more(&mut self, span: Span) -> Result<(Event<'t>, Span), Unreadable> {
        self.next()?.ok_or_else(|| Unreadable { place: start(span), rule: None })
    }

    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Value, Unreadable> {
        let (before, bytes_before) = (self.nodes, self.bytes);
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return refuse(span, format!("must have at most {NODES_MAX} nodes"));
        }
        let is_collection = matches!(event, Event::SequenceStart(..) | Event::MappingStart(..));
        if is_collection && depth >= DEPTH_MAX {
            return refuse(span, format!("must be nested at most {DEPTH_MAX} deep"));
        }
        let (anchor, value) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.bytes += text.len();
                (anchor, scalar(&text, style, tag.as_deref(), span)?)
            }
            Event::SequenceStart(_, anchor, _) => (anchor, self.sequence(span, depth + 1)?),
            Event::MappingStart(_, anchor, _) => (anchor, self.mapping(span, depth + 1)?),
            Event::Alias(anchor) => return self.alias(anchor, span),
            _ => return Err(Unreadable { place: start(span), rule: None }),
        };
        if anchor != 0 {
            let nodes = self.nodes - before;
            self.recorded += nodes;
            if self.recorded > ALIASED_NODES_MAX {
                return refuse(span, too_many_aliases());
            }
            let bytes = self.bytes - bytes_before;
            self.recorded_bytes += bytes;
            if self.recorded_bytes > ALIASED_BYTES_MAX {
                let rule = format!("must have anchors (&…) for at most {ALIASED_BYTES_MAX} bytes in all");
                return refuse(span, rule);
            }
            self.anchors.insert(anchor, Anchored { value: value.clone(), nodes, bytes });
        }
        Ok(value)
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<Value, Unreadable> {
        let Some(anchored) = self.anchors.get(&anchor) else {
            return refuse(span, "must not have an alias (*…) inside of what it names".to_owned());
        };
        self.aliased += anchored.nodes;
        if self.aliased > ALIASED_NODES_MAX {
            return refuse(span, too_many_aliases());
        }
        self.aliased_bytes += anchored.bytes;
        if self.aliased_bytes > ALIASED_BYTES_MAX {
            let rule = format!("must have aliases (*…) for at most {ALIASED_BYTES_MAX} bytes in all");
            return refuse(span, rule);
        }
        self.bytes += anchored.bytes;
        // In what an anchor around this records, it is as large as what it stands for.
        self.nodes += anchored.nodes - 1;
        Ok(anchored.value.clone())
    }

    fn sequence(&mut self, span: Span, depth: usize) -> Result<Value, Unreadable> {
        let mut items = Vec::new();
        loop {
            match self.more(span)? {
                (Event::SequenceEnd, _) => return Ok(Value::Array(items)),
                (event, span) => items.push(self.node(event, span, depth)?),
            }
        }
    }

    fn mapping(&mut self, span: Span, depth: usize) -> Result<Value, Unreadable> {
        let (mut members, mut written) = (Map::new(), Map::new());
        loop {
            let (event, at) = self.more(span)?;
            if matches!(event, Event::MappingEnd) {
                return Ok(Value::Object(members));
            }
            let merges = is_merge(&event);
            let key = match &event {
                Event::Scalar(text, ScalarStyle::Plain, 0, None) if !merges => {
                    self.nodes += 1;
                    self.bytes += text.len();
                    reading::kubectl_key(text).map_or_else(|| no_key(at), Ok)?
                }
                _ => match self.node(event, at, depth)? {
                    key if merges => key.to_string(),
                    key => key_of(key, at)?,
                },
            };
            let (event, of_value) = self.more(span)?;
            let value = self.node(event, of_value, depth)?;
            if merges {
                merge(&mut members, value, of_value)?;
                continue;
            }
            if written.insert(key.clone(), Value::Null).is_some() {
                self.doubled.push(start(at));
            }
            members.insert(key, value);
        }
    }
}

fn start(span: Span) -> Place {
    Place::from(&span.start)
}

fn refuse<T>(span: Span, rule: String) -> Result<T, Unreadable> {
    Err(Unreadable { place: start(span), rule: Some(rule) })
}

fn too_many_aliases() -> String {
    format!("must have aliases (*…) for at most {ALIASED_NODES_MAX} nodes in all")
}

fn is_merge(event: &Event<'_>) -> bool {
    let Event::Scalar(text, style, _, tag) = event else { return false };
    let tag = tag.as_deref().and_then(|tag| tag.suffix_in_namespace(CORE_TAGS));
    text == "<<" && (*style == ScalarStyle::Plain && tag.is_none() || tag.as_deref() == Some("merge"))
}

/// Writes what a merge key names over what is there, of several mappings the first one last.
fn merge(members: &mut Map<String, Value>, value: Value, span: Span) -> Result<(), Unreadable> {
    let mappings = match value {
        Value::Array(items) => items.into_iter().rev().collect(),
        one => vec![one],
    };
    for mapping in mappings {
        match mapping {
            Value::Object(mapping) => members.extend(mapping),
            _ => return refuse(span, "must have mappings alone as merge keys (<<)".to_owned()),
        }
    }
    Ok(())
}

/// A key as JSON has it.
fn key_of(key: Value, span: Span) -> Result<String, Unreadable> {
    match key {
        Value::String(key) => Ok(key),
        Value::Bool(_) | Value::Number(_) => Ok(key.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => no_key(span),
    }
}

fn no_key<T>(span: Span) -> Result<T, Unreadable> {
    refuse(span, "must have texts, numbers or booleans as keys".to_owned())
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> Result<Value, Unreadable> {
    let Some(tag) = tag else {
        return if style == ScalarStyle::Plain { plain(text, span) } else { Ok(text.into()) };
    };
    let name = tag.suffix_in_namespace(CORE_TAGS).unwrap_or_default();
    let value = match &*name {
        "bool" => Some(plain(text, span)?).filter(Value::is_boolean),
        "null" => Some(plain(text, span)?).filter(Value::is_null),
        "int" => Some(plain(text, span)?).filter(|value| value.is_number() && !value.is_f64()),
        "float" => plain(text, span)?.as_f64().and_then(Number::from_f64).map(Value::Number),
        "binary" => {
            let decoded = go_base64::decode(text.as_bytes());
            decoded.and_then(|bytes| String::from_utf8(bytes).ok()).map(Value::String)
        }
        _ => Some(text.into()),
    };
    value.map_or_else(|| refuse(span, format!("must have a value that fits the tag !!{name}")), Ok)
}

/// A plain scalar without a tag.
fn plain(text: &str, span: Span) -> Result<Value, Unreadable> {
    let number = match reading::kubectl(text) {
        Plain::Null => return Ok(Value::Null),
        Plain::Bool(value) => return Ok(value.into()),
        Plain::Integer(value) => Number::from_i128(value),
        Plain::Float(value) => Number::from_f64(value),
        Plain::NotFinite => return refuse(span, "must be a finite number, or a text in quotes".to_owned()),
        Plain::Text => None,
    };
    Ok(number.map_or_else(|| text.into(), Value::Number))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(text: &str) -> Value {
        read(text).unwrap().value
    }

    fn rule(text: &str) -> String {
        read(text).err().unwrap().rule.unwrap_or_default()
    }

    #[test]
    fn plain_scalars_have_the_values_of_yaml_1_1_and_quoted_ones_are_texts() {
        let table = [
            (json!(true), &["yes", "Y", "on", "TRUE"][..]),
            (json!(false), &["no", "n", "Off", "False"]),
            (json!(null), &["", "~", "NULL", "!!null ''"]),
            (json!(13), &["13", "015", "0xD", "0b1101", "0o15", "+13", "1_3", "!!int 13"]),
            (json!(-8), &["-010", "-8", "-0x8"]),
            (json!(815.0), &["0815", "815.", "8.15e2", "!!float 815"]),
            (json!(18_446_744_073_709_551_615_u64), &["18446744073709551615"]),
            (json!(1e20), &["100000000000000000000"]),
            (
                json!("yes"),
                &["'yes'", "\"yes\"", "!!str yes", "!x yes", "|-\n yes", ">-\n yes", "!!binary eWVz"],
            ),
            (json!("1:30"), &["1:30"]),
            (json!("2020-01-01"), &["2020-01-01"]),
            (json!("0x"), &["0x"]),
            (json!("1e999"), &["1e999"]),
            (json!("-"), &["'-'"]),
            (json!("+"), &["+"]),
        ];
        for (value, texts) in table {
            for text in texts {
                assert_eq!(of(&format!("a: {text}"))["a"], value, "{text}");
            }
        }
        for text in ["a: .inf", "a: !!int x", "a: !!bool 1", "a: !!binary '%'", "~: a", "[a]: b", "{a: b}: c"]
        {
            assert!(!rule(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn the_last_of_equal_keys_counts_and_its_place_is_known() {
        let reading = read("a: 1\nb: {c: 1, c: 2}\na: 3\n").unwrap();
        assert_eq!(reading.value, json!({"a": 3, "b": {"c": 2}}));
        assert_eq!(reading.doubled, [Place { line: 2, column: 11 }, Place { line: 3, column: 1 }]);
    }

    #[test]
    fn merge_keys_are_written_out_where_they_stand() {
        assert_eq!(of("p: &x {a: 1, b: 1}\nq: {a: 2, <<: *x, b: 3}")["q"], json!({"a": 1, "b": 3}));
        assert_eq!(of("- &x {a: 1}\n- &y {a: 2, b: 2}\n- {<<: [*x, *y]}")[2], json!({"a": 1, "b": 2}));
        assert_eq!(of("{'<<': 1}"), json!({"<<": 1}));
        assert!(rule("{<<: 1}").contains("merge keys"));
        assert!(rule("a: &a [*a]").contains("alias"));
        let copied = format!("a: &a {}\nb: [{}]", "x".repeat(1024 * 1024), "*a, ".repeat(9));
        assert!(rule(&copied).contains("bytes in all"));
        let recorded = format!("a: {}{}{}", "&a [".repeat(60), "x".repeat(1024 * 1024), "]".repeat(60));
        assert!(rule(&recorded).contains("anchors"));
        assert_eq!(
            of("{1e3: a, .inf: b, yes: c, '1e3': d}"),
            json!({"1000": "a", ".inf": "b", "true": "c", "1e3": "d"})
        );
    }

    #[test]
    fn the_first_document_alone_is_read() {
        for (text, value, has_more) in [
            ("", json!(null), false),
            ("# nothing\n", json!(null), false),
            ("---\n", json!(null), false),
            ("a: 1\n---\nb: 2\n", json!({"a": 1}), true),
            ("a: 1\n...\n", json!({"a": 1}), false),
            ("a: 1\n---\nb: [\n", json!({"a": 1}), true),
            ("\u{feff}a: 1\r\n", json!({"a": 1}), false),
            ("{\"a\": 1}", json!({"a": 1}), false),
        ] {
            let reading = read(text).unwrap();
            assert_eq!((reading.value, reading.has_more), (value, has_more), "{text:?}");
        }
        for text in ["a: 1\n]", "a: [", "a: 'b", "a: b: c"] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }
}
