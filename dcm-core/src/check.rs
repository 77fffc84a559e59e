//! What a store is looked through for: documents that can't be read, or that contradict one another.
//!
//! A [`Survey`] takes the documents of its rooms one by one, in the order of their paths, and keeps what others are held against:
//! names, hashes and versions. Then it says what it suspects. A store is listed page by page while others write to it, so what was
//! read does not belong to one moment: a suspicion names the documents that it rests on, with their versions, and counts only where
//! all of them are still so afterwards ([`Suspicion::is_confirmed`]).

use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::port::room::Room;
use crate::port::schema::ReadError;
use crate::port::store::{self, Entry, Path, Version};

/// What is wrong. The names are part of the interface: programs tell findings apart by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The path lies in no room of this store, or is none of its room.
    UnknownPath,
    /// Another version of the software wrote it.
    UnknownSchema,
    /// It is no JSON, or no such document.
    Unreadable,
    /// Its MAC is missing or does not match, or a secret in it can't be opened with the keys.
    Unopened,
    /// It is not what the hash in its path says.
    Altered,
    /// It says of itself that it is another one than its path says.
    Misplaced,
    /// It can be read, and breaks a rule of what it stands for.
    Invalid,
    /// What it needs is not there.
    Missing,
    /// What it needs belongs to somebody else.
    Taken,
    /// It is further than what it follows from: part of the store is from an earlier time.
    Ahead,
    /// What it belongs to is not there.
    Orphaned,
    /// Nothing names it any more.
    Unused,
    /// A change of several documents did not come to its end.
    CutOff,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::UnknownPath,
        Self::UnknownSchema,
        Self::Unreadable,
        Self::Unopened,
        Self::Altered,
        Self::Misplaced,
        Self::Invalid,
        Self::Missing,
        Self::Taken,
        Self::Ahead,
        Self::Orphaned,
        Self::Unused,
        Self::CutOff,
    ];

    /// The name, as programs know it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::UnknownPath => "unknown-path",
            Self::UnknownSchema => "unknown-schema",
            Self::Unreadable => "unreadable",
            Self::Unopened => "unopened",
            Self::Altered => "altered",
            Self::Misplaced => "misplaced",
            Self::Invalid => "invalid",
            Self::Missing => "missing",
            Self::Taken => "taken",
            Self::Ahead => "ahead",
            Self::Orphaned => "orphaned",
            Self::Unused => "unused",
            Self::CutOff => "cut-off",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Something that is wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Which document.
    pub path: Path,
    /// What is wrong.
    pub rule: Rule,
    /// The same in words, with what else is concerned. No secret is in it.
    pub what: String,
    /// What clears it without anybody looking after it; none: a person has to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleared_by: Option<&'static str>,
}

/// A finding of one look at documents that may have changed while they were listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspicion {
    /// What was found.
    pub finding: Finding,
    /// All documents that it follows from, with their versions; none for what was not there.
    pub rests_on: BTreeMap<Path, Option<Version>>,
}

impl Suspicion {
    /// Something about a document that had this version.
    #[must_use]
    pub fn new(path: &Path, version: Version, rule: Rule, what: impl Into<String>) -> Self {
        let finding = Finding { path: path.clone(), rule, what: what.into(), cleared_by: None };
        Self { finding, rests_on: BTreeMap::from([(path.clone(), Some(version))]) }
    }

    /// Says what clears it.
    #[must_use]
    pub fn cleared_by(mut self, what: &'static str) -> Self {
        self.finding.cleared_by = Some(what);
        self
    }

    /// Says that it follows from this document, too.
    #[must_use]
    pub fn resting_on(mut self, path: Path, version: Version) -> Self {
        self.rests_on.insert(path, Some(version));
        self
    }

    /// Says that it follows from there being no such document.
    #[must_use]
    pub fn without(mut self, path: Path) -> Self {
        self.rests_on.insert(path, None);
        self
    }

    /// True when all that it rests on still has the same versions. `now` tells them.
    pub fn is_confirmed(&self, now: impl Fn(&Path) -> Option<Version>) -> bool {
        self.rests_on.iter().all(|(path, version)| now(path) == *version)
    }
}

/// Looks through the documents of some rooms.
pub trait Survey: Send {
    /// Which rooms.
    fn rooms(&self) -> &'static [Room];

    /// Takes the next document of these rooms, with its secrets in clear. They come in the order of their paths, each once.
    fn take(&mut self, entry: &Entry);

    /// Takes note of a document that somebody else has found not to be readable: it is there, and nothing is known of it.
    fn take_unread(&mut self, path: &Path, version: Version);

    /// What is suspected, when all documents were taken.
    fn suspicions(&mut self) -> Vec<Suspicion>;
}

/// Reads a document, or suspects it. `read` is that of its schema.
///
/// # Errors
/// What it is suspected of.
pub fn read<T: DeserializeOwned>(
    entry: &Entry,
    read: impl FnOnce(&Entry) -> Result<T, ReadError>,
) -> Result<T, Box<Suspicion>> {
    read(entry).map_err(|error| {
        let suspicion = |rule, what| Box::new(Suspicion::new(&entry.path, entry.version, rule, what));
        match error {
            ReadError::UnknownSchema { found, .. } => {
                suspicion(Rule::UnknownSchema, format!("it has schema {found}, which is not known here"))
            }
            ReadError::Unreadable { source, .. } | ReadError::Store(source) => {
                suspicion(Rule::Unreadable, unreadable(&source))
            }
        }
    })
}

/// What is said of a document that can't be read.
fn unreadable(source: &store::Error) -> String {
    match source {
        store::Error::Corrupt { line, column, .. } => {
            format!("it is no such document (line {line}, column {column})")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::schema::Schema;
    use crate::port::store::Document;

    fn path(text: &str) -> Path {
        Path::new(text).unwrap()
    }

    #[test]
    fn rules_have_the_names_that_programs_read() {
        for rule in Rule::ALL {
            assert_eq!(serde_json::to_value(rule).unwrap(), rule.name());
        }
    }

    #[test]
    fn a_suspicion_counts_while_all_that_it_rests_on_is_as_it_was() {
        let suspicion = Suspicion::new(&path("a"), Version(1), Rule::Missing, "it names c")
            .resting_on(path("b"), Version(2))
            .without(path("c"));
        let seen = |a: u64, b: u64, c: Option<u64>| {
            suspicion.is_confirmed(|path| match path.as_str() {
                "a" => Some(Version(a)),
                "b" => Some(Version(b)),
                _ => c.map(Version),
            })
        };
        assert!(seen(1, 2, None));
        assert!(!seen(3, 2, None) && !seen(1, 3, None) && !seen(1, 2, Some(4)));
    }

    #[test]
    fn what_cannot_be_read_is_told_without_its_content() {
        #[derive(Debug, Deserialize)]
        struct Record {
            #[allow(dead_code)]
            schema: Schema<1>,
        }
        let suspected = |text: &str| {
            let document = Document::from_stored(text);
            let entry = Entry { path: path("a"), version: Version(1), document };
            read::<Record>(&entry, Schema::<1>::read).unwrap_err().finding
        };
        let finding = suspected(r#"{"schema":2,"password":"hunter2"}"#);
        assert_eq!((finding.rule, finding.what.contains("schema 2")), (Rule::UnknownSchema, true));
        let finding = suspected(r#"{"schema":"hunter2"}"#);
        assert_eq!((finding.rule, finding.what.contains("hunter2")), (Rule::Unreadable, false));
    }
}
