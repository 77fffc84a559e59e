//! JSON as it was written: members in their order, and numbers with all of their digits.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it is written.
    Number(Box<str>),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// The members of an object, in order. No key is there twice.
    Object(Vec<(String, Self)>),
}

impl Json {
    /// Reads one value. An object that has a key twice, and a number beyond the range of 64-bit floats, are refused.
    pub(crate) fn read(text: &str) -> Result<Self, serde_json::Error> {
        let mut value: Self = serde_json::from_str(text)?;
        value.fill(&mut numbers(text));
        Ok(value)
    }

    /// Gives each number its digits: they come in the order of the text.
    fn fill<'t>(&mut self, numbers: &mut impl Iterator<Item = &'t str>) {
        match self {
            Self::Number(number) => *number = numbers.next().unwrap_or_default().into(),
            Self::List(items) => items.iter_mut().for_each(|item| item.fill(numbers)),
            Self::Object(members) => members.iter_mut().for_each(|(_, member)| member.fill(numbers)),
            Self::Null | Self::Bool(_) | Self::Text(_) => {}
        }
    }

    /// Appends the value without white space and with sorted members: equal values give equal texts.
    pub(crate) fn write_canonical(&self, text: &mut String) {
        match self {
            Self::Null => text.push_str("null"),
            Self::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
            Self::Number(number) => text.push_str(number),
            Self::Text(value) => write_text(value, text),
            Self::List(items) => {
                text.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        text.push(',');
                    }
                    item.write_canonical(text);
                }
                text.push(']');
            }
            Self::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                members.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
                text.push('{');
                for (index, (key, member)) in members.into_iter().enumerate() {
                    if index > 0 {
                        text.push(',');
                    }
                    write_text(key, text);
                    text.push(':');
                    member.write_canonical(text);
                }
                text.push('}');
            }
        }
    }
}

fn write_text(value: &str, text: &mut String) {
    text.push_str(&serde_json::Value::from(value).to_string());
}

/// The numbers of a well-formed JSON text, in order.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find(|found: char| matches!(found, '"' | '-' | '0'..='9'))?;
            rest = &rest[start..];
            if let Some(quoted) = rest.strip_prefix('"') {
                rest = after_text(quoted)?;
                continue;
            }
            let end = rest.find(|found: char| !matches!(found, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'));
            let (number, behind) = rest.split_at(end.unwrap_or(rest.len()));
            rest = behind;
            return Some(number);
        }
    })
}

/// Everything behind a text of which the first quotation mark was taken.
fn after_text(mut rest: &str) -> Option<&str> {
    loop {
        let at = rest.find(['"', '\\'])?;
        if rest[at..].starts_with('"') {
            return Some(&rest[at + 1..]);
        }
        // What is escaped begins with one byte of ASCII.
        rest = rest.get(at + 2..)?;
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.to_string().into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.to_string().into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Number(value.to_string().into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut object = Vec::new();
        let mut keys = std::collections::BTreeSet::new();
        while let Some((key, member)) = members.next_entry::<String, _>()? {
            if !keys.insert(key.clone()) {
                return Err(de::Error::custom(format_args!(
                    "duplicate key {:?}",
                    crate::refusal::shortened(&key)
                )));
            }
            object.push((key, member));
        }
        Ok(Json::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits_and_members_are_sorted() {
        let text = r#" {"b": [1.50, -0, 12E+4, 123456789012345678901234], "a\"1": "2 \\", "a": {"é-3": 3.14159265358979323846}} "#;
        let mut canonical = String::new();
        Json::read(text).unwrap().write_canonical(&mut canonical);
        assert_eq!(
            canonical,
            r#"{"a":{"é-3":3.14159265358979323846},"a\"1":"2 \\","b":[1.50,-0,12E+4,123456789012345678901234]}"#
        );
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused_at_any_depth() {
        for (text, key) in [(r#"{"a": 1, "a": 2}"#, "a"), (r#"[{"x": {"b\u0062": 1, "bb": 1}}]"#, "bb")] {
            let refused = Json::read(text).unwrap_err().to_string();
            assert!(refused.starts_with(&format!("duplicate key {key:?}")), "{refused}");
        }
    }
}
