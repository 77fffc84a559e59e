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

/// Gives the text with what `replace` gives in place of each object that has one of the members, and to the letter all around.
/// Where it gives none, the walk goes on inside of the object.
pub(crate) fn rewrite<E>(
    text: &str,
    names: &[&str],
    replace: impl FnMut(Found<'_>) -> Result<Option<String>, E>,
) -> Result<String, Halt<E>> {
    let raw: &RawValue = parse(text)?;
    let mut walk = Walk { names, replace, pointer: String::new(), replaced: Vec::new() };
    walk.value(raw, 0)?;
    let (mut rewritten, mut rest) = (String::with_capacity(text.len()), 0);
    for (object, replacement) in walk.replaced {
        // The parser borrows from the text.
        let start = object.as_ptr().addr() - text.as_ptr().addr();
        rewritten.push_str(&text[rest..start]);
        rewritten.push_str(&replacement);
        rest = start + object.len();
    }
    rewritten.push_str(&text[rest..]);
    Ok(rewritten)
}

struct Walk<'n, 't, F> {
    names: &'n [&'n str],
    replace: F,
    pointer: String,
    /// Parts of the text in order, with what takes their place.
    replaced: Vec<(&'t str, String)>,
}

impl<'t, E, F: FnMut(Found<'_>) -> Result<Option<String>, E>> Walk<'_, 't, F> {
    fn value(&mut self, raw: &'t RawValue, depth: usize) -> Result<(), Halt<E>> {
        let text = raw.get();
        if !self.names.iter().any(|name| may_have(text, name)) {
            return Ok(());
        }
        if depth > NESTING_MAX {
            return Err(Halt::TooDeep);
        }
        match text.as_bytes().first() {
            Some(b'{') => self.object(text, &parse(text)?, depth),
            Some(b'[') => self.array(&parse::<Vec<&RawValue>, E>(text)?, depth),
            _ => Ok(()),
        }
    }

    fn object(&mut self, text: &'t str, members: &Members<'t>, depth: usize) -> Result<(), Halt<E>> {
        if members.0.iter().any(|(name, _)| self.names.contains(&name.as_str())) {
            let found = Found { pointer: &self.pointer, members };
            if let Some(replacement) = (self.replace)(found).map_err(Halt::Refused)? {
                self.replaced.push((text, replacement));
                return Ok(());
            }
        }
        for (name, value) in &members.0 {
            self.below(&name.replace('~', "~0").replace('/', "~1"), value, depth)?;
        }
        Ok(())
    }

    fn array(&mut self, items: &[&'t RawValue], depth: usize) -> Result<(), Halt<E>> {
        for (index, item) in items.iter().enumerate() {
            self.below(&index.to_string(), item, depth)?;
        }
        Ok(())
    }

    fn below(&mut self, step: &str, value: &'t RawValue, depth: usize) -> Result<(), Halt<E>> {
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
