//! Paths to fields, as people write and read them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Longest path, in bytes: longer than any field of a known kind, with room for a label's key.
const TEXT_BYTES_MAX: usize = 1024;

/// Where a field is in an object: its names from the object down, such as `spec.hard.pods`. Items of lists are passed
/// over: `spec.template.spec.containers.image` is the image of each container.
///
/// A name that holds more than letters, digits, `-` and `_` is quoted in brackets: `spec.hard["requests.cpu"]`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FieldPath(Vec<Box<str>>);

text_form!(FieldPath);

/// Why a text is no path of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidFieldPath {
    /// It does not have the form of one.
    #[error(
        r#"must be names divided by dots, such as spec.hard.pods, others quoted: spec.hard["requests.cpu"]"#
    )]
    Form,
    /// It is longer than any field's.
    #[error("must be at most 1024 bytes")]
    TooLong,
}

impl crate::refusal::Rule for InvalidFieldPath {
    fn rule(&self) -> String {
        self.to_string()
    }
}

impl FieldPath {
    /// The path of these names.
    pub(super) fn of<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        Self(names.map(Into::into).collect())
    }

    /// True for the field itself and what lies in it.
    #[must_use]
    pub fn covers(&self, field: &Self) -> bool {
        field.0.starts_with(&self.0)
    }

    /// True for a member of the object itself, and what lies in it.
    #[must_use]
    pub fn begins_with(&self, member: &str) -> bool {
        self.0.first().is_some_and(|first| **first == *member)
    }
}

impl FromStr for FieldPath {
    type Err = InvalidFieldPath;

    fn from_str(text: &str) -> Result<Self, InvalidFieldPath> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(InvalidFieldPath::TooLong);
        }
        let mut names = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (name, after) = next_name(rest, names.is_empty()).ok_or(InvalidFieldPath::Form)?;
            names.push(name);
            rest = after;
        }
        if names.is_empty() { Err(InvalidFieldPath::Form) } else { Ok(Self(names)) }
    }
}

/// The name with which a text begins, and what follows it.
fn next_name(text: &str, is_first: bool) -> Option<(Box<str>, &str)> {
    if let Some(quoted) = text.strip_prefix('[') {
        let mut names = serde_json::Deserializer::from_str(quoted).into_iter::<String>();
        let name = names.next()?.ok()?;
        let after = quoted.get(names.byte_offset()..)?.strip_prefix(']')?;
        return (!name.is_empty()).then(|| (name.into(), after));
    }
    let text = if is_first { text } else { text.strip_prefix('.')? };
    let end = text.find(|character| !is_plain(character)).unwrap_or(text.len());
    let (name, after) = text.split_at(end);
    (!name.is_empty()).then(|| (name.into(), after))
}

fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_')
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().enumerate() {
            if name.is_empty() || !name.chars().all(is_plain) {
                write!(f, "[{}]", serde_json::Value::from(&**name))?;
            } else {
                write!(f, "{}{name}", if index > 0 { "." } else { "" })?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TryFrom<String> for FieldPath {
    type Error = InvalidFieldPath;

    fn try_from(text: String) -> Result<Self, InvalidFieldPath> {
        text.parse()
    }
}

impl From<FieldPath> for String {
    fn from(path: FieldPath) -> Self {
        path.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> FieldPath {
        text.parse().unwrap()
    }

    #[test]
    fn a_path_is_read_as_it_is_written() {
        for text in [
            "spec",
            "spec.hard.pods",
            r#"spec.hard["requests.cpu"]"#,
            r#"metadata.labels["a.io/b"]"#,
            r#"["a b"].c["d\"e"]["f"]"#,
        ] {
            assert_eq!(path(&path(text).to_string()), path(text), "{text}");
        }
        assert_eq!(path(r#"spec["hard"].pods"#).to_string(), "spec.hard.pods");
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in
            ["", ".", ".a", "a.", "a..b", "a b", "a[b]", "a[", r#"a["b""#, r#"a[""]"#, r#"a["b"]c"#, "a[0]"]
        {
            assert_eq!(text.parse::<FieldPath>(), Err(InvalidFieldPath::Form), "{text}");
        }
        assert_eq!("a".repeat(1025).parse::<FieldPath>(), Err(InvalidFieldPath::TooLong));
    }

    #[test]
    fn a_path_covers_what_lies_in_it_and_no_neighbour() {
        assert!(path("spec.hard").covers(&path("spec.hard.pods")));
        assert!(path("spec.hard").covers(&path("spec.hard")));
        assert!(!path("spec.hard.pods").covers(&path("spec.hard")));
        assert!(!path("spec.har").covers(&path("spec.hard")));
    }
}
