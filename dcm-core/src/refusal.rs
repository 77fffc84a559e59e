//! What is wrong with an input, all of it at once, and what is right but perhaps not meant.
//!
//! A [`Refusal`] names the field by its path in the document (`spec.users[1].name`), shows the start of its value, and
//! says the rule as a sentence. Values that may be secret are never shown.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Most characters of a refused value that are shown: enough to recognise it, too few to fill a log.
pub const VALUE_SHOWN_MAX: usize = 64;

/// Most refusals that one answer names: nobody reads more.
pub const REFUSALS_MAX: usize = 100;

/// One field that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error)]
#[error("{}{rule}{}", at(.path), shown(.value))]
pub struct Refusal {
    /// Path of the field in the document, such as `spec.users[1].name`.
    pub path: String,
    /// The refused value, cut to [`VALUE_SHOWN_MAX`] characters; empty when it is missing or may be secret.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// The rule that it breaks, as a sentence.
    pub rule: String,
}

/// Where it is; what is wrong with the whole document is nowhere in it.
fn at(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}: ") }
}

fn shown(value: &str) -> String {
    if value.is_empty() { String::new() } else { format!(" (found {value:?})") }
}

/// All refusals of one input; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusals(Vec<Refusal>);

impl Refusals {
    /// Collects refusals; none when there is none.
    #[must_use]
    pub fn of(refusals: Vec<Refusal>) -> Option<Self> {
        if refusals.is_empty() { None } else { Some(Self(refusals)) }
    }

    /// These, and others after them.
    #[must_use]
    pub fn with(mut self, others: impl IntoIterator<Item = Refusal>) -> Self {
        self.0.extend(others);
        self
    }

    /// All of them, in the order of the document's checks.
    #[must_use]
    pub fn as_slice(&self) -> &[Refusal] {
        &self.0
    }
}

impl From<Refusal> for Refusals {
    fn from(refusal: Refusal) -> Self {
        Self(vec![refusal])
    }
}

impl IntoIterator for Refusals {
    type Item = Refusal;
    type IntoIter = std::vec::IntoIter<Refusal>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Display for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, refusal) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            refusal.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusals {}

/// Something that is accepted and perhaps not meant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// Path of the field in the document.
    pub path: String,
    /// What is to be known about it, as a sentence.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// Where a check is in a document.
#[derive(Debug, Clone, Default)]
pub struct Path(String);

impl Path {
    /// The document itself.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// A member, such as `spec`.
    #[must_use]
    pub fn field(&self, name: &str) -> Self {
        if self.0.is_empty() { Self(name.to_owned()) } else { Self([&*self.0, ".", name].concat()) }
    }

    /// An item of a list, counted from 0.
    #[must_use]
    pub fn item(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// A place in the part that is here.
    #[must_use]
    pub fn below(&self, place: &Self) -> Self {
        let dot = if self.0.is_empty() || place.0.is_empty() || place.0.starts_with('[') { "" } else { "." };
        Self([&*self.0, dot, &*place.0].concat())
    }

    /// A key of a map: quoted, as it may hold dots.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{:?}]", self.0, shortened(key)))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The start of a refused value, at most [`VALUE_SHOWN_MAX`] characters.
pub(crate) fn shortened(value: &str) -> String {
    match value.char_indices().nth(VALUE_SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

/// Collects refusals while a document is checked, so that one answer names all of them.
#[derive(Debug, Default)]
pub struct Checks {
    refusals: Vec<Refusal>,
}

impl Checks {
    /// Refuses a value. Pass an empty value when it may be secret.
    pub fn refuse(&mut self, path: &Path, value: &str, rule: impl Into<String>) {
        self.refusals.push(Refusal { path: path.to_string(), value: shortened(value), rule: rule.into() });
    }

    /// Takes what a constructor made, or refuses what it was made from.
    pub fn accept<T, E: Rule>(&mut self, path: &Path, value: &str, made: Result<T, E>) -> Option<T> {
        match made {
            Ok(made) => Some(made),
            Err(error) => {
                self.refuse(path, value, error.rule());
                None
            }
        }
    }

    /// Takes what was refused of a part of the document, which is at a path.
    pub fn include(&mut self, path: &Path, checked: Result<(), Refusals>) {
        for Refusal { path: below, value, rule } in checked.err().into_iter().flatten() {
            self.refusals.push(Refusal { path: path.below(&Path(below)).0, value, rule });
        }
    }

    /// How many were refused so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.refusals.len()
    }

    /// Ends the checks with what they made; a check that makes nothing has refused something.
    ///
    /// # Errors
    /// All refusals, when there are any.
    pub fn finish<T>(self, made: Option<T>) -> Result<T, Refusals> {
        match (made, Refusals::of(self.refusals)) {
            (_, Some(refusals)) => Err(refusals),
            (Some(made), None) => Ok(made),
            (None, None) => unreachable!("a check that makes nothing refuses something"),
        }
    }
}

/// An error of a constructor that can say the broken rule alone, without the value.
pub trait Rule {
    /// The rule, as a sentence.
    fn rule(&self) -> String;
}

impl Rule for crate::name::InvalidName {
    fn rule(&self) -> String {
        format!("a {} is {}", self.kind, self.rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_reads_as_a_sentence_with_the_field_and_the_start_of_its_value() {
        let mut checks = Checks::default();
        let path = Path::root().field("spec").field("users").item(1).field("name");
        checks.refuse(&path, &"x".repeat(VALUE_SHOWN_MAX + 1), "is too long");
        let refusals = checks.finish(Some(())).unwrap_err();
        let shown = format!("{}…", "x".repeat(VALUE_SHOWN_MAX));
        assert_eq!(refusals.to_string(), format!("spec.users[1].name: is too long (found {shown:?})"));
    }

    #[test]
    fn no_refusal_is_no_error() {
        assert_eq!(Checks::default().finish(Some(1)), Ok(1));
        assert_eq!(Refusals::of(vec![]), None);
    }

    #[test]
    fn keys_with_dots_are_quoted_in_a_path() {
        assert_eq!(Path::root().field("hard").key("limits.cpu").to_string(), r#"hard["limits.cpu"]"#);
    }
}
