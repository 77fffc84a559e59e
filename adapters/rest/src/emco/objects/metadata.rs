//! Name and notes.

use dcm_core::logical_cloud::MetadataDraft;
use dcm_core::logical_cloud::limits::{DESCRIPTION_MAX, USER_DATA_MAX};
use dcm_core::name::{API_NAME_MAX, is_api_name};
use serde::{Deserialize, Serialize};

use super::at_most;
use crate::emco::body::Shape;

/// The rule of names, as EMCO's schemas have it.
pub(super) const NAME_PATTERN: &str = "^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$";

/// Name and notes. All of them are answered, also those that are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) user_data1: String,
    pub(crate) user_data2: String,
}

impl Metadata {
    pub(super) const SHAPE: Shape = Shape::Of(&[
        ("name", Shape::Any),
        ("description", Shape::Any),
        ("userData1", Shape::Any),
        ("userData2", Shape::Any),
    ]);

    /// What the model has.
    pub(crate) fn of(metadata: impl Into<MetadataDraft>) -> Self {
        let MetadataDraft { name, description, user_data1, user_data2 } = metadata.into();
        Self { name, description, user_data1, user_data2 }
    }

    pub(super) fn check(&self, lines: &mut Vec<String>) {
        check_name(&self.name, lines);
        at_most(DESCRIPTION_MAX, &self.description, lines);
        at_most(USER_DATA_MAX, &self.user_data1, lines);
        at_most(USER_DATA_MAX, &self.user_data2, lines);
    }
}

/// Adds a line for each rule of names that a text breaks.
pub(super) fn check_name(name: &str, lines: &mut Vec<String>) {
    let is_long = name.chars().count() > API_NAME_MAX;
    // The rule of names has the length in it.
    let is_legal =
        if is_long { name.bytes().all(|byte| byte.is_ascii_alphanumeric()) } else { is_api_name(name) };
    if !is_legal {
        lines.push(format!("Does not match pattern '{NAME_PATTERN}'"));
    }
    at_most(API_NAME_MAX, name, lines);
}

impl From<Metadata> for MetadataDraft {
    fn from(metadata: Metadata) -> Self {
        let Metadata { name, description, user_data1, user_data2 } = metadata;
        Self { name, description, user_data1, user_data2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_names_and_notes_are_told_in_emcos_words() {
        let pattern = format!("Does not match pattern '{NAME_PATTERN}'");
        let longest = |length: usize| format!("String length must be less than or equal to {length}");
        let lines = |metadata: Metadata| {
            let mut lines = Vec::new();
            metadata.check(&mut lines);
            lines
        };
        let named = |name: &str| lines(Metadata { name: name.into(), ..Metadata::default() });
        assert_eq!(named("a-B.c_1"), Vec::<String>::new());
        for bad in ["", "-a", "two words", "ü"] {
            assert_eq!(named(bad), std::slice::from_ref(&pattern), "{bad}");
        }
        assert_eq!(named(&"x".repeat(129)), [longest(128)]);
        let long = Metadata {
            name: "a".into(),
            description: "ü".repeat(1025),
            user_data1: "x".repeat(513),
            user_data2: "x".repeat(512),
        };
        assert_eq!(lines(long), [longest(1024), longest(512)]);
    }
}
