//! Walks a JSON text to the objects that have a certain member, and leaves the rest of the text as it is: a document is
//! read as it was written, with the order of its members and every digit of its numbers.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Deepest nesting that is walked: serde_json's own limit, so that no document overflows the stack.
const NESTING_MAX: usize = 128;

/// Members of one object, in order; a name may be there twice.
pub(crate) struct Members<'a>(pub(crate) Vec<(String, &'a RawValue)>);

/// An object that has one of the members looked for.
pub(crate) struct Found<'w> {
    /// Its place, as a JSON pointer.
    #[cfg_attr(not(feature = "encrypted"), allow(dead_code))]
    pub(crate) pointer: &'w str,
    /// Its members.
    #[cfg_attr(not(feature = "encrypted"), allow(dead_code))]
    pub(crate) members: &'w Members<'w>,
}

/// Why a walk ended early.
#[derive(Debug)]
pub(crate) enum Halt<E> {
    /// The text is not JSON.
    NotJson { line: usize, column: usize },
    /// Deeper than [`NESTING_MAX`].
    TooDeep,
    /// The visitor refused.
    Refused(E),
}

/// What is wrong with the text itself.
pub(crate) fn reason<E>(halt: &Halt<E>) -> String {
    match halt {
        Halt::NotJson { line, column } => format!("the document is not JSON (line {line}, column {column})"),
        Halt::TooDeep => format!("the document is nested more than {NESTING_MAX} deep"),
        Halt::Refused(_) => "the document is refused".into(),
    }
}

/// False when no member of the text can have this name. Cheap. A name can hide behind escapes only: serde_json writes
/// those for control characters alone.
pub(crate) fn may_have(text: &str, name: &str) -> bool {
    text.contains(name) || text.contains("\\u00")
}

/// Gives the text anew, with what `replace` gives in place of each object that has one of the members. Where it gives
/// none, the walk goes on inside of the object.
pub(crate) fn rewrite<E>(
    text: &str,
    names: &[&str],
    replace: impl FnMut(Found<'_>) -> Result<Option<String>, E>,
) -> Result<String, Halt<E>> {
    let raw: &RawValue = parse(text)?;
    let mut walk = Walk { names, replace, pointer: String::new(), text: String::with_capacity(text.len()) };
    walk.value(raw, 0)?;
    Ok(walk.text)
}

struct Walk<'n, F> {
    names: &'n [&'n str],
    replace: F,
    pointer: String,
    text: String,
}

impl<E, F: FnMut(Found<'_>) -> Result<Option<String>, E>> Walk<'_, F> {
    fn value(&mut self, raw: &RawValue, depth: usize) -> Result<(), Halt<E>> {
        let text = raw.get();
        if !self.names.iter().any(|name| may_have(text, name)) {
            self.text.push_str(text);
            return Ok(());
        }
        if depth > NESTING_MAX {
            return Err(Halt::TooDeep);
        }
        match text.as_bytes().first() {
            Some(b'{') => self.object(&parse(text)?, depth),
            Some(b'[') => self.array(&parse::<Vec<&RawValue>, E>(text)?, depth),
            _ => {
                self.text.push_str(text);
                Ok(())
            }
        }
    }

    fn object(&mut self, members: &Members<'_>, depth: usize) -> Result<(), Halt<E>> {
        if members.0.iter().any(|(name, _)| self.names.contains(&name.as_str())) {
            let found = Found { pointer: &self.pointer, members };
            if let Some(replacement) = (self.replace)(found).map_err(Halt::Refused)? {
                self.text.push_str(&replacement);
                return Ok(());
            }
        }
        self.text.push('{');
        for (index, (name, value)) in members.0.iter().enumerate() {
            if index > 0 {
                self.text.push(',');
            }
            self.text.push_str(&serde_json::Value::from(name.as_str()).to_string());
            self.text.push(':');
            self.below(&name.replace('~', "~0").replace('/', "~1"), value, depth)?;
        }
        self.text.push('}');
        Ok(())
    }

    fn array(&mut self, items: &[&RawValue], depth: usize) -> Result<(), Halt<E>> {
        self.text.push('[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.text.push(',');
            }
            self.below(&index.to_string(), item, depth)?;
        }
        self.text.push(']');
        Ok(())
    }

    fn below(&mut self, step: &str, value: &RawValue, depth: usize) -> Result<(), Halt<E>> {
        let here = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(step);
        self.value(value, depth + 1)?;
        self.pointer.truncate(here);
        Ok(())
    }
}

fn parse<'a, T: Deserialize<'a>, E>(text: &'a str) -> Result<T, Halt<E>> {
    serde_json::from_str(text).map_err(|error| Halt::NotJson { line: error.line(), column: error.column() })
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn all_but_the_replaced_is_left_as_it_was() {
        let text = r#"{"z":1.50,"a":[123456789012345678901234567890,{"mark":1},{"b/~":{"mark":2}}],"z":2}"#;
        let mut pointers = Vec::new();
        let rewritten = rewrite(text, &["mark"], |found| {
            pointers.push(format!("{}={}", found.pointer, found.members.0.len()));
            Ok::<_, Infallible>(Some("null".into()))
        });
        let expected = r#"{"z":1.50,"a":[123456789012345678901234567890,null,{"b/~":null}],"z":2}"#;
        assert_eq!(rewritten.unwrap(), expected);
        assert_eq!(pointers, ["/a/1=1", "/a/2/b~1~0=1"]);
    }

    #[test]
    fn what_is_not_replaced_is_walked_inside() {
        let mut seen = 0;
        let rewritten = rewrite(r#"{"mark":{"mark":"mark"}}"#, &["mark"], |_| {
            seen += 1;
            Ok::<_, Infallible>(None)
        });
        assert_eq!((rewritten.unwrap().as_str(), seen), (r#"{"mark":{"mark":"mark"}}"#, 2));
    }
}
